// The table for people.
//
//    allocations   bytes  bytes/s  in use  in-use bytes  type, where
//           2400  115200     3840     200          9600  Session  Shop#login (shop.cr:12) <- main
//           2400  115200     3840     200          9600  total
//    estimates from 12 samples: one for 10000 bytes allocated, on average
//    the collector counted 115300 bytes, 0.1 % more
//
// Type and place come last, so that their width never disturbs a column; a terminal shows as much
// of them as fits. In use is what was allocated during the trace and not found dead since.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/format/write/sites_formats.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

std::vector<std::string> cells_of(const trace::SiteTable& table,
                                  const trace::Amounts& amounts,
                                  const TextStyle& style,
                                  std::string text) {
  return {count_cell(rounded(amounts.allocations), style),
          bytes_cell(rounded(amounts.bytes), style),
          bytes_cell(rounded(table.per_second(amounts.bytes)), style),
          count_cell(rounded(amounts.in_use_objects), style),
          bytes_cell(rounded(amounts.in_use_bytes), style),
          std::move(text)};
}

std::string text_of(const trace::Site& site) {
  std::string text;
  for (const std::string& part :
       {terminal_text(site.name), shown_type(site), shown_place(site, " <- ")}) {
    if (!text.empty() && !part.empty()) text += "  ";
    text += part;
  }
  return text;
}

// Without samples, ours are the bytes that were asked for; the collector gives whole slots.
std::string compared(double ours, std::uint64_t theirs, bool is_estimate) {
  if (ours == 0) return fmt::format("the collector counted {} bytes in the same time", theirs);
  const double more = (static_cast<double>(theirs) / ours - 1) * 100;
  return fmt::format("the collector counted {} bytes in the same time, {:.1f} % {}{}", theirs,
                     std::abs(more), more < 0 ? "less" : "more",
                     is_estimate || more < 0 ? "" : ": it counts whole slots");
}

}  // namespace

std::uint64_t rounded(double amount) {
  return amount <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(amount));
}

std::string shown_type(const trace::Site& site) {
  const std::string type = terminal_text(site.type);
  return site.more_types == 0 ? type : fmt::format("{} and {} more", type, site.more_types);
}

std::string shown_place(const trace::Site& site, std::string_view between) {
  std::string text;
  for (const std::string& frame : site.frames) {
    if (!text.empty()) text += between;
    text += terminal_text(frame);
  }
  if (site.more_places == 0 || text.empty()) return text;
  return fmt::format("{} and {} more {}", text, site.more_places,
                     site.more_places == 1 ? "place" : "places");
}

std::vector<std::string> shortfalls_of(const trace::Header& header) {
  std::vector<std::string> texts;
  if (header.drops != 0) {
    texts.push_back(fmt::format("partial: {} {} lost, so the figures are too small",
                                counted(header.drops, "sample"),
                                header.drops == 1 ? "was" : "were"));
  }
  if (!header.complete) texts.push_back("partial: " + terminal_text(header.reason));
  return texts;
}

std::vector<std::string> remarks_about(const trace::SiteTable& table) {
  std::vector<std::string> remarks;
  if (table.total.samples == 0 && table.is_of_all_types && !table.is_cut) {
    remarks.push_back(
        fmt::format("no samples: the program allocated less than about {}; try: --every 4K",
                    human_bytes(table.header.every)));
  }
  if (table.is_estimate()) {
    remarks.push_back(fmt::format("estimates from {}: one for {} allocated, on average",
                                  counted(table.total.samples, "sample"),
                                  human_bytes(table.header.every)));
  }
  const auto theirs = table.collectors_bytes();
  const bool is_comparable = table.is_of_all_types && table.header.complete;
  if (theirs && is_comparable)
    remarks.push_back(compared(table.total.bytes, *theirs, table.is_estimate()));
  for (std::string& shortfall : shortfalls_of(table.header)) {
    remarks.push_back(std::move(shortfall));
  }
  for (const std::string& warning : table.header.warnings) {
    remarks.push_back(terminal_text(warning));
  }
  return remarks;
}

std::string format_sites_table(const trace::SiteTable& table, const TextStyle& style) {
  Table lines({"allocations", "bytes", "bytes/s", "in use", "in-use bytes", "type, where"});
  for (const trace::Site& site : table.rows) {
    lines.add(cells_of(table, site.amounts, style, text_of(site)));
  }
  if (table.left_out_rows != 0) {
    lines.add(cells_of(table, table.left_out, style, fmt::format("({} more)", table.left_out_rows)),
              Table::Kind::Total);
  }
  lines.add(
      cells_of(table, table.total, style, table.is_of_all_types ? "total" : "total of --type"),
      Table::Kind::Total);
  std::string out = lines.format(style);
  for (const std::string& remark : remarks_about(table)) out += remark + '\n';
  return out;
}

}  // namespace heapattach
