#pragma once

#include <string>
#include <vector>

#include "report/format/write/table.h"
#include "report/trace/sites.h"

// The table of a trace in every format, each explained in its source. Frames are innermost first in
// all of them.
namespace heapattach {

[[nodiscard]] std::string format_sites_table(const trace::SiteTable& table, const TextStyle& style);
[[nodiscard]] std::string format_sites_tsv(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_csv(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_json(const trace::SiteTable& table);
// These two have room for one number of objects and of bytes: those of the value.
[[nodiscard]] std::string format_sites_markdown(const trace::SiteTable& table, trace::Value value);
[[nodiscard]] std::string format_sites_memprof(const trace::SiteTable& table, trace::Value value);

// A sum of estimates, as text for people and programs.
[[nodiscard]] std::uint64_t rounded(double amount);

// "Session", "Session and 2 more"; safe to show.
[[nodiscard]] std::string shown_type(const trace::Site& site);
// The frames with `between` between them, and how many places there are besides; safe to show.
[[nodiscard]] std::string shown_place(const trace::Site& site, std::string_view between);

// Why the trace is not whole, a sentence each; safe to show.
[[nodiscard]] std::vector<std::string> shortfalls_of(const trace::Header& header);
// What makes the table less than exact and whole, a sentence each; safe to show.
[[nodiscard]] std::vector<std::string> remarks_about(const trace::SiteTable& table);

// The rows in which the value is not 0.
[[nodiscard]] std::vector<const trace::Site*> rows_with(const trace::SiteTable& table,
                                                        trace::Value value);

}  // namespace heapattach
