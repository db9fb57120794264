#include "report/text/spreadsheet_text.h"

#include <doctest/doctest.h>

#include "report/format/write/count_formats.h"

namespace heapattach {

TEST_CASE("a text that a spreadsheet would take for a formula gets an apostrophe") {
  for (const char* text : {"=cmd|' /C calc'!A0", "+Type", "-Type", "@SUM(A1)", "\t=1", "\r=1"}) {
    CHECK(spreadsheet_text(text) == "'" + std::string(text));
  }
  for (const char* text : {"", "-", "=", "Type", "(unknown)", "'text", "a=b", " =1"}) {
    CHECK(spreadsheet_text(text) == text);
  }
}

TEST_CASE("types in CSV and TSV are never formulas, and numbers are unchanged") {
  snapshot::CountTable table;
  snapshot::CountRow row;
  row.type = "=HYPERLINK(\"http://x\")";
  row.objects = 1;
  row.bytes = 48;
  table.rows = {row};
  CHECK(format_count_csv(table) ==
        "objects,bytes,type\r\n1,48,\"'=HYPERLINK(\"\"http://x\"\")\"\r\n");
  CHECK(format_count_tsv(table) == "objects\tbytes\ttype\n1\t48\t'=HYPERLINK(\"http://x\")\n");
}

}  // namespace heapattach
