#include "report/format/write/table.h"

#include <string>

#include <doctest/doctest.h>

#include "report/text/terminal_text.h"

namespace heapattach {

TEST_CASE("a long text is cut at the terminal's width and nowhere else") {
  Table table({"bytes", "type"});
  table.add({"1000000", "Hash(String, Array(Tuple(Int32, Int32)))"});
  table.add({"1", "Foo"});
  CHECK(table.format({}).find("Tuple(Int32, Int32)))\n") != std::string::npos);
  CHECK(table.format({.columns = 30}) ==
        "  bytes  type\n1000000  Hash(String, Array(T…\n      1  Foo\n");
}

TEST_CASE("a terminal too narrow for the numbers still shows the beginning of a text") {
  Table table({"bytes", "type"});
  table.add({"123456789", "Hash(String, Array(Int32))"});
  CHECK(table.format({.columns = 8}).find("  Hash(String, Ar…\n") != std::string::npos);
}

TEST_CASE("totals are faint where there is colour") {
  Table table({"bytes", "type"});
  table.add({"1", "Foo"});
  table.add({"1", "live"}, Table::Kind::Total);
  CHECK(table.format({.with_colour = true}) ==
        "\x1b[1mbytes  type\x1b[0m\n    1  Foo\n\x1b[2m    1  live\x1b[0m\n");
}

TEST_CASE("shortening counts columns, not bytes, and never cuts a character") {
  CHECK(shortened("Session", 7) == "Session");
  CHECK(shortened("Session", 6) == "Sessi…");
  CHECK(shortened("äöüß", 4) == "äöüß");
  CHECK(shortened("äöüß", 3) == "äö…");
  CHECK(shortened("日本語", 6) == "日本語");
  CHECK(shortened("日本語", 5) == "日本…");
  CHECK(shortened("日本語", 4) == "日…");
  CHECK(shortened("e\u0301e\u0301", 2) == "e\u0301e\u0301");
}

TEST_CASE("numbers are digits for programs, and for people what they read fastest") {
  CHECK(count_cell(1234567, {}) == "1234567");
  CHECK(bytes_cell(1234567, {}) == "1234567");
  CHECK(growth_cell(-1234, {}) == "-1234");
  CHECK(growth_bytes_cell(0, {}) == "+0");
  const TextStyle terminal{.with_units = true, .with_separators = true};
  CHECK(count_cell(1234567, terminal) == "1,234,567");
  CHECK(count_cell(123, terminal) == "123");
  CHECK(bytes_cell(1234567, terminal) == "1.2 MiB");
  CHECK(growth_cell(-1234, terminal) == "-1,234");
  CHECK(growth_bytes_cell(INT64_MIN, terminal) == "-8.0 EiB");
  const TextStyle exact{.with_separators = true};
  CHECK(bytes_cell(1234567, exact) == "1,234,567");
}

}  // namespace heapattach
