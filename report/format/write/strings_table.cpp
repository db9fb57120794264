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
#include "report/text/terminal_text.h"
#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

std::string shown(std::string_view text, std::size_t limit) {
  const std::string_view cut = cut_utf8(text, limit);
  std::string out = fmt::format("\"{}\"", terminal_text(cut));
  if (cut.size() < text.size()) out += fmt::format("… ({} bytes)", text.size());
  return out;
}

}  // namespace

std::string format_strings_table(const StringReport& report, const TextStyle& style) {
  const snapshot::Duplicates& found = report.found;
  Table table({"wasted", "copies", "bytes", "type", "text"});
  for (const snapshot::DuplicateRow& row : found.rows) {
    table.add({bytes_cell(row.wasted_bytes, style), count_cell(row.copies, style),
               bytes_cell(row.bytes, style), std::string(row.type),
               shown(row.text, report.shown_bytes)});
  }
  const auto add_total = [&](std::string wasted, std::string copies, std::string bytes,
                             std::string text) {
    table.add({std::move(wasted), std::move(copies), std::move(bytes), {}, std::move(text)},
              Table::Kind::Total);
  };
  if (found.left_out_rows != 0) {
    add_total(bytes_cell(found.left_out_wasted, style), {}, {},
              fmt::format("({} more texts)", found.left_out_rows));
  }
  add_total(bytes_cell(found.wasted_bytes, style), count_cell(found.strings, style),
            bytes_cell(found.bytes, style),
            fmt::format("all strings, {} different texts", found.distinct));
  std::string out = table.format(style);
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
