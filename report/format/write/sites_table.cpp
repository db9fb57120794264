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
#include "report/short_names.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// "Session", "Session and 2 more".
std::string type_text(const trace::Site& site, std::string_view name) {
  const std::string type = terminal_text(name);
  return site.more_types == 0 ? type : fmt::format("{} and {} more", type, site.more_types);
}

// The frames, and the number of other places.
std::string shown_place(const trace::Site& site) {
  std::string text;
  for (const std::string& frame : site.frames) {
    if (!text.empty()) text += " <- ";
    text += terminal_text(frame);
  }
  if (site.more_places == 0 || text.empty()) return text;
  return fmt::format("{} and {} more {}", text, site.more_places,
                     site.more_places == 1 ? "place" : "places");
}

std::string text_of(const trace::Site& site) {
  std::string text;
  for (const std::string& part :
       {terminal_text(site.name), type_text(site, shown_type_name(site.type)), shown_place(site)}) {
    if (!text.empty() && !part.empty()) text += "  ";
    text += part;
  }
  return text;
}

template <double trace::Amounts::*Amount>
CellValue amount(const trace::SiteTable& /*table*/, const trace::Site& site) {
  return rounded(site.amounts.*Amount);
}

using trace::Amounts;
using trace::Site;
using trace::SiteTable;

constexpr Column<SiteTable, Site> kColumns[] = {
    {{.head = "allocations", .key = "allocations"}, amount<&Amounts::allocations>},
    {{.head = "bytes", .key = "bytes", .unit = Unit::Bytes}, amount<&Amounts::bytes>},
    {{.head = "bytes/s", .key = "bytes_per_second", .unit = Unit::Bytes},
     [](const auto& table, const auto& site) {
       return CellValue(rounded(table.per_second(site.amounts.bytes)));
     }},
    {{.head = "in use", .key = "in_use_objects"}, amount<&Amounts::in_use_objects>},
    {{.head = "in-use bytes", .key = "in_use_bytes", .unit = Unit::Bytes},
     amount<&Amounts::in_use_bytes>},
    {{.key = "samples"},
     [](const auto&, const auto& site) { return CellValue(site.amounts.samples); }},
    {{.json = "name"},
     [](const auto&, const auto& site) {
       return site.name.empty() ? CellValue() : CellValue(site.name);
     }},
    {{.json = "type"}, member<&Site::type>},
    {{.json = "more_types"},
     [](const auto&, const auto& site) {
       return site.more_types == 0 ? CellValue() : CellValue(site.more_types);
     }},
    {{.json = "frames"}, member<&Site::frames>},
    {{.json = "more_places"},
     [](const auto&, const auto& site) {
       return site.more_places == 0 ? CellValue() : CellValue(site.more_places);
     }},
    {{.cells = "name"},
     [](const auto&, const auto& site) { return CellValue(terminal_text(site.name)); }},
    {{.cells = "type"},
     [](const auto&, const auto& site) { return CellValue(type_text(site, site.type)); }},
    {{.cells = "where"},
     [](const auto&, const auto& site) { return CellValue(shown_place(site)); }},
    {{.head = "type, where"},
     [](const auto&, const auto& site) { return CellValue(text_of(site)); }},
};

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

std::vector<std::string> shortfalls_of(const trace::Header& header) {
  std::vector<std::string> texts;
  if (header.drops != 0) {
    texts.push_back(fmt::format("partial: {} {} lost, so the figures are too low",
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
  if (theirs && is_comparable) {
    remarks.push_back(compared(table.total.bytes, *theirs, table.is_estimate()));
  }
  for (std::string& shortfall : shortfalls_of(table.header)) {
    remarks.push_back(std::move(shortfall));
  }
  for (const std::string& warning : table.header.warnings) {
    remarks.push_back(terminal_text(warning));
  }
  return remarks;
}

Grid site_grid(const SiteTable& table, std::span<const Site> sites) {
  return grid_of(kColumns, table, sites);
}

std::string format_sites_table(const SiteTable& table, const TextStyle& style) {
  Grid grid = site_grid(table, table.rows);
  const Site total{.amounts = table.total};
  const Site left_out{.amounts = table.left_out};
  if (table.left_out_rows != 0) {
    grid.add_total(site_grid(table, {&left_out, 1}), fmt::format("({} more)", table.left_out_rows));
  }
  grid.add_total(site_grid(table, {&total, 1}),
                 table.is_of_all_types ? "total" : "total of --type");
  std::string out = table_of(grid, style);
  for (const std::string& remark : remarks_about(table)) out += remark + '\n';
  return out;
}

// `name` is of the thread or fiber, with --by those. Frames are separated by " <- ".
std::string format_sites_tsv(const SiteTable& table) {
  return tsv_of(site_grid(table, table.rows));
}

std::string format_sites_csv(const SiteTable& table) {
  return csv_of(site_grid(table, table.rows));
}

}  // namespace heapattach
