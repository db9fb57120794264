#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/format/write/columns.h"
#include "report/trace/sites.h"

// Formats the table of a trace, whose columns are declared in sites_table.cpp. Frames are innermost
// first in all formats.
namespace heapattach {

[[nodiscard]] std::string format_sites_table(const trace::SiteTable& table, const TextStyle& style);
[[nodiscard]] std::string format_sites_tsv(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_csv(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_json(const trace::SiteTable& table);
// These two have room for only one pair of objects and bytes, those of `table.value`.
[[nodiscard]] std::string format_sites_markdown(const trace::SiteTable& table);
[[nodiscard]] std::string format_sites_memprof(const trace::SiteTable& table);

// These sites of the table, with all columns; the first are the amounts.
[[nodiscard]] Grid site_grid(const trace::SiteTable& table, std::span<const trace::Site> sites);
inline constexpr std::size_t kAmountColumns = 6;

// Rounds a sum of estimates for output.
[[nodiscard]] std::uint64_t rounded(double amount);

// The reasons why the trace is incomplete, one sentence each; safe to show.
[[nodiscard]] std::vector<std::string> shortfalls_of(const trace::Header& header);
// The reasons why the table is inexact or incomplete, one sentence each; safe to show.
[[nodiscard]] std::vector<std::string> remarks_about(const trace::SiteTable& table);

}  // namespace heapattach
