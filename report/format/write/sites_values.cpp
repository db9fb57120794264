// The rows of a trace as tab- and comma-separated values, with a header line: allocations, bytes,
// bytes_per_second, in_use_objects, in_use_bytes, samples, name, type, where. `name` is of the
// thread or fiber, with --by those. Texts are last, and are made as those of the counts: no tab and
// no line break in TSV, in quotes in CSV. Frames are separated by " <- ", the innermost first. No
// totals: they would be rows.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/format/write/sites_formats.h"
#include "report/text/spreadsheet_text.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

constexpr std::string_view kNumbers[] = {"allocations",    "bytes",        "bytes_per_second",
                                         "in_use_objects", "in_use_bytes", "samples"};

std::string numbers_of(const trace::SiteTable& table,
                       const trace::Amounts& amounts,
                       std::string_view between) {
  const std::uint64_t numbers[] = {rounded(amounts.allocations),
                                   rounded(amounts.bytes),
                                   rounded(table.per_second(amounts.bytes)),
                                   rounded(amounts.in_use_objects),
                                   rounded(amounts.in_use_bytes),
                                   amounts.samples};
  return fmt::format("{}", fmt::join(numbers, between));
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + '"';
}

}  // namespace

std::string format_sites_tsv(const trace::SiteTable& table) {
  std::string out = fmt::format("{}\tname\ttype\twhere\n", fmt::join(kNumbers, "\t"));
  for (const trace::Site& site : table.rows) {
    out +=
        fmt::format("{}\t{}\t{}\t{}\n", numbers_of(table, site.amounts, "\t"),
                    spreadsheet_text(terminal_text(site.name)), spreadsheet_text(shown_type(site)),
                    spreadsheet_text(shown_place(site, " <- ")));
  }
  return out;
}

std::string format_sites_csv(const trace::SiteTable& table) {
  std::string out = fmt::format("{},name,type,where\r\n", fmt::join(kNumbers, ","));
  for (const trace::Site& site : table.rows) {
    out += fmt::format("{},{},{},{}\r\n", numbers_of(table, site.amounts, ","),
                       in_quotes(spreadsheet_text(terminal_text(site.name))),
                       in_quotes(spreadsheet_text(shown_type(site))),
                       in_quotes(spreadsheet_text(shown_place(site, " <- "))));
  }
  return out;
}

}  // namespace heapattach
