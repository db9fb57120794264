#pragma once

#include <string>
#include <vector>

#include "report/format/write/table.h"
#include "report/trace/sites.h"

// Formats the table of a trace. Each format is explained in its source file. Frames are innermost
// first in all of them.
namespace heapattach {

[[nodiscard]] std::string format_sites_table(const trace::SiteTable& table, const TextStyle& style);
[[nodiscard]] std::string format_sites_tsv(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_csv(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_json(const trace::SiteTable& table);
// These two have room for only one pair of objects and bytes, those of `table.value`.
[[nodiscard]] std::string format_sites_markdown(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_memprof(const trace::SiteTable& table);

// Rounds a sum of estimates for output.
[[nodiscard]] std::uint64_t rounded(double amount);

// "Session", "Session and 2 more"; safe to show.
[[nodiscard]] std::string shown_type(const trace::Site& site);
// The frames, separated by `between`, and the number of other places; safe to show.
[[nodiscard]] std::string shown_place(const trace::Site& site, std::string_view between);

// The reasons why the trace is incomplete, one sentence each; safe to show.
[[nodiscard]] std::vector<std::string> shortfalls_of(const trace::Header& header);
// The reasons why the table is inexact or incomplete, one sentence each; safe to show.
[[nodiscard]] std::vector<std::string> remarks_about(const trace::SiteTable& table);

}  // namespace heapattach
