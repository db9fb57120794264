#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "report/format/write/json_record.h"
#include "report/format/write/table.h"

// A report with rows declares its columns once, one line each, and all formats are printed from
// that: the table for people, Markdown, CSV, TSV, and the rows in JSON.
namespace heapattach {

// How people see the numbers of a column; programs always get plain digits. Signed numbers are
// growth, and have their sign.
enum class Unit : std::uint8_t { Digits, Count, Bytes };

struct Address {
  std::uint64_t value = 0;
};

// The contents of a cell. Texts that people see must be safe to show. Nothing is an empty cell, and
// no key in JSON; the last three are for JSON alone.
using CellValue = std::variant<std::monostate,
                               std::uint64_t,
                               std::int64_t,
                               std::string,
                               bool,
                               Address,
                               std::vector<std::string>,
                               std::vector<JsonRecord>>;

struct ColumnHead {
  std::string_view head = {};   // above the column, for people; empty: they do not see it
  std::string_view key = {};    // its name in JSON, CSV and TSV
  std::string_view json = {};   // … in JSON alone
  std::string_view cells = {};  // … in CSV and TSV alone
  Unit unit = Unit::Count;
  std::string_view gauge = {};  // explains the column's gauge in OpenMetrics; empty: there is none

  [[nodiscard]] std::string_view json_key() const { return json.empty() ? key : json; }
  [[nodiscard]] std::string_view cells_key() const { return cells.empty() ? key : cells; }
};

// A column's head, and a function for its cells. In the table for people, the last column is text,
// and the others are aligned to the right.
template <class Report, class Row>
struct Column {
  ColumnHead head;
  CellValue (*value)(const Report& report, const Row& row) = nullptr;
  bool (*is_there)(const Report& report) = nullptr;  // null: in each report
};

// The value of a column that is a member of the row.
template <auto Member, class Report, class Row>
[[nodiscard]] CellValue member(const Report& /*report*/, const Row& row) {
  return row.*Member;
}

// The value of the JSON key "short" beside a type's full name; nothing if it is the same.
[[nodiscard]] CellValue short_cell(std::string_view type);

// A guess at a type as people see it: "struct conn?", cut if it is long; empty if there is none.
[[nodiscard]] std::string guess_text(std::string_view guess);

// The rows of a report, which it borrows. Cells are computed as they are printed.
struct Grid {
  std::vector<ColumnHead> columns;
  std::size_t rows = 0;
  std::function<CellValue(std::size_t row, std::size_t column)> value_at;
  std::vector<std::vector<CellValue>> totals;  // for people, below the rows

  // Adds a total that has only these columns, named by their headings, and `text` in the last.
  void add_total(const std::vector<std::pair<std::string_view, CellValue>>& values,
                 std::string text);
  // Adds the only row of `total`, but `text` in the last column.
  void add_total(const Grid& total, std::string text);
};

template <class Report, class Row, std::size_t N>
[[nodiscard]] Grid grid_of(const Column<Report, Row> (&all)[N],
                           const Report& report,
                           std::type_identity_t<std::span<const Row>> rows) {
  Grid grid;
  std::vector<CellValue (*)(const Report&, const Row&)> values;
  for (const Column<Report, Row>& column : all) {
    if (column.is_there != nullptr && !column.is_there(report)) continue;
    grid.columns.push_back(column.head);
    values.push_back(column.value);
  }
  grid.rows = rows.size();
  grid.value_at = [&report, rows, values = std::move(values)](std::size_t row, std::size_t column) {
    return values[column](report, rows[row]);
  };
  return grid;
}

// The table for people, with its totals.
[[nodiscard]] std::string table_of(const Grid& grid, const TextStyle& style);

// A Markdown table as GitHub and GitLab render it, for issues and merge requests, with its totals.
// Texts are code, except in totals.
[[nodiscard]] std::string markdown_of(const Grid& grid);

// Tab-separated values, with a header line. A text contains no tab and no line break: control
// characters are written as \t, \n, \x1b, a backslash as \\. So a line is always one row, and if
// the text is last, `cut` finds all of it. No totals: they would be rows.
[[nodiscard]] std::string tsv_of(const Grid& grid);

// Comma-separated values as in RFC 4180: a header line, CRLF after each line, and every text in
// quotes with quotes inside doubled, because names such as Hash(String, Int32) contain commas.
// Control characters are written as \t, \n, \x1b: a quoted line break would be allowed by the
// standard, but not understood by the line-based tools that read most CSV files. No totals.
[[nodiscard]] std::string csv_of(const Grid& grid);

// Adds the values of a row to a record.
void add_row(const Grid& grid, std::size_t row, JsonRecord& record);
// Adds all rows as a list of records.
void add_rows(std::string_view key, const Grid& grid, JsonRecord& record);

}  // namespace heapattach
