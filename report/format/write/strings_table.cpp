// The table of duplicate strings, for people.
//
//   wasted  copies  bytes    type  text
//     3168     100   3200  String  "user-1"
//       96       4    128  String  "a longer one of which the beginning is sh"… (52 bytes)
//     3264     300   9600          all strings, 203 different texts
//
// A text is quoted and escaped; one that is not shown in full has its length after it.

#include <fmt/format.h>

#include "report/format/write/string_formats.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"
#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

using snapshot::DuplicateRow;

std::string_view cut(const StringReport& report, const DuplicateRow& row) {
  return cut_utf8(row.text, report.shown_bytes);
}

bool is_cut(const StringReport& report, const DuplicateRow& row) {
  return cut(report, row).size() < row.text.size();
}

constexpr Column<StringReport, DuplicateRow> kColumns[] = {
    {{.head = "wasted", .unit = Unit::Bytes}, member<&DuplicateRow::wasted_bytes>},
    {{.json = "text"},
     [](const auto& report, const auto& row) { return CellValue(std::string(cut(report, row))); }},
    {{.json = "cut"},
     [](const auto& report, const auto& row) {
       return is_cut(report, row) ? CellValue(true) : CellValue();
     }},
    {{.json = "text_bytes"},
     [](const auto& report, const auto& row) {
       return is_cut(report, row) ? CellValue(row.text.size()) : CellValue();
     }},
    {{.json = "type"},
     [](const auto&, const auto& row) { return CellValue(std::string(row.type)); }},
    {{.head = "copies", .key = "copies"}, member<&DuplicateRow::copies>},
    {{.head = "bytes", .key = "bytes", .unit = Unit::Bytes}, member<&DuplicateRow::bytes>},
    {{.json = "wasted_bytes"}, member<&DuplicateRow::wasted_bytes>},
    {{.head = "type"},
     [](const auto&, const auto& row) { return CellValue(shown_type_name(row.type)); }},
    {{.head = "text"},
     [](const auto& report, const auto& row) {
       std::string text = fmt::format("\"{}\"", terminal_text(cut(report, row)));
       if (is_cut(report, row)) text += fmt::format("… ({} bytes)", row.text.size());
       return CellValue(text);
     }},
};

}  // namespace

Grid string_grid(const StringReport& report) {
  return grid_of(kColumns, report, report.found.rows);
}

std::string format_strings_table(const StringReport& report, const TextStyle& style) {
  const snapshot::Duplicates& found = report.found;
  Grid grid = string_grid(report);
  if (found.left_out_rows != 0) {
    grid.add_total({{"wasted", found.left_out_wasted}},
                   fmt::format("({} more texts)", found.left_out_rows));
  }
  grid.add_total(
      {{"wasted", found.wasted_bytes}, {"copies", found.strings}, {"bytes", found.bytes}},
      fmt::format("all strings, {} different texts", found.distinct));
  std::string out = table_of(grid, style);
  if (found.cut != 0) {
    out += fmt::format(
        "note: the snapshot has only the start of {} strings, which are not compared; "
        "--values=4096 keeps more\n",
        found.cut);
  }
  if (found.without_text != 0) {
    out += fmt::format("note: {} strings have no text\n", found.without_text);
  }
  if (found.strings == 0) {
    out += "note: no object is known to be a string: without types they cannot be recognised\n";
  }
  if (!report.complete) out += fmt::format("partial: {}\n", terminal_text(report.reason));
  return out;
}

}  // namespace heapattach
