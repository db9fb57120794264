#include "report/format/write/columns.h"

#include <algorithm>

#include "report/format/write/markdown.h"
#include "report/short_names.h"
#include "report/text/spreadsheet_text.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// A cell without formatting: the digits of a number, or the whole text.
std::string plain(const CellValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

std::string shown(const CellValue& value, Unit unit, const TextStyle& style) {
  if (const auto* growth = std::get_if<std::int64_t>(&value)) {
    return unit == Unit::Bytes ? growth_bytes_cell(*growth, style) : growth_cell(*growth, style);
  }
  const auto* const number = std::get_if<std::uint64_t>(&value);
  if (number == nullptr || unit == Unit::Digits) return plain(value);
  return unit == Unit::Bytes ? bytes_cell(*number, style) : count_cell(*number, style);
}

// Whether Markdown shows the column. It has no room for columns that programs do not get, except
// the last one, which is text.
bool is_in_markdown(const Grid& grid, std::size_t column) {
  const ColumnHead& of = grid.columns[column];
  return !of.head.empty() && (!of.cells_key().empty() || column + 1 == grid.columns.size());
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + '"';
}

std::string separated(const Grid& grid, char separator, bool with_quotes, std::string_view end) {
  std::string out;
  const auto end_line = [&] {
    out.pop_back();  // the last separator
    out += end;
  };
  for (const ColumnHead& column : grid.columns) {
    if (!column.cells_key().empty()) (out += column.cells_key()) += separator;
  }
  end_line();
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t i = 0; i < grid.columns.size(); ++i) {
      if (grid.columns[i].cells_key().empty()) continue;
      const CellValue value = grid.value_at(row, i);
      const bool is_text = std::holds_alternative<std::string>(value);
      const std::string cell = is_text ? spreadsheet_text(plain(value)) : plain(value);
      (out += is_text && with_quotes ? in_quotes(cell) : cell) += separator;
    }
    end_line();
  }
  return out;
}

void add_value(std::string_view key, const CellValue& value, JsonRecord& record) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) record.number(key, *number);
  if (const auto* growth = std::get_if<std::int64_t>(&value)) record.number(key, *growth);
  if (const auto* text = std::get_if<std::string>(&value)) record.text(key, *text);
  if (const auto* is_so = std::get_if<bool>(&value)) record.boolean(key, *is_so);
  if (const auto* address = std::get_if<Address>(&value)) record.address(key, address->value);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) record.list(key, *texts);
  if (const auto* records = std::get_if<std::vector<JsonRecord>>(&value)) {
    record.list(key, *records);
  }
}

}  // namespace

std::string guess_text(std::string_view guess) {
  constexpr std::size_t kLongest = 40;
  if (guess.empty()) return {};
  const std::string text = terminal_text(shown_type_name(guess));
  return (text.size() > kLongest ? text.substr(0, kLongest) + "…" : text) + "?";
}

void Grid::add_total(const std::vector<std::pair<std::string_view, CellValue>>& values,
                     std::string text) {
  std::vector<CellValue> total(columns.size());
  for (const auto& given : values) {
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const auto& one) { return one.head == given.first; });
    if (column != columns.end()) {
      total[static_cast<std::size_t>(column - columns.begin())] = given.second;
    }
  }
  total.back() = std::move(text);
  totals.push_back(std::move(total));
}

void Grid::add_total(const Grid& total, std::string text) {
  std::vector<CellValue> values;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) values.push_back(total.value_at(0, i));
  values.emplace_back(std::move(text));
  totals.push_back(std::move(values));
}

std::string table_of(const Grid& grid, const TextStyle& style) {
  std::vector<std::string> heads;
  for (const ColumnHead& column : grid.columns) {
    if (!column.head.empty()) heads.emplace_back(column.head);
  }
  Table table(std::move(heads));
  const auto add = [&](Table::Kind kind, const auto& value_in) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < grid.columns.size(); ++i) {
      const ColumnHead& column = grid.columns[i];
      if (!column.head.empty()) cells.push_back(shown(value_in(i), column.unit, style));
    }
    table.add(std::move(cells), kind);
  };
  for (std::size_t row = 0; row < grid.rows; ++row) {
    add(Table::Kind::Row, [&](std::size_t column) { return grid.value_at(row, column); });
  }
  for (const std::vector<CellValue>& total : grid.totals) {
    add(Table::Kind::Total, [&](std::size_t column) { return total[column]; });
  }
  return table.format(style);
}

std::string markdown_of(const Grid& grid) {
  std::string heads;
  std::string lines;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    if (!is_in_markdown(grid, i)) continue;
    heads += fmt::format("| {} ", grid.columns[i].head);
    lines += i + 1 == grid.columns.size() ? "| :--- " : "| ---: ";
  }
  std::string out = fmt::format("{}|\n{}|\n", heads, lines);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t i = 0; i < grid.columns.size(); ++i) {
      if (!is_in_markdown(grid, i)) continue;
      const CellValue value = grid.value_at(row, i);
      const bool is_text = std::holds_alternative<std::string>(value);
      out += fmt::format("| {} ", is_text ? code_span(plain(value)) : plain(value));
    }
    out += "|\n";
  }
  for (const std::vector<CellValue>& total : grid.totals) {
    for (std::size_t i = 0; i < total.size(); ++i) {
      const std::string cell = plain(total[i]);
      if (is_in_markdown(grid, i)) out += cell.empty() ? "| " : fmt::format("| {} ", cell);
    }
    out += "|\n";
  }
  return out;
}

std::string tsv_of(const Grid& grid) {
  return separated(grid, '\t', false, "\n");
}

std::string csv_of(const Grid& grid) {
  return separated(grid, ',', true, "\r\n");
}

void add_row(const Grid& grid, std::size_t row, JsonRecord& record) {
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const std::string_view key = grid.columns[i].json_key();
    if (!key.empty()) add_value(key, grid.value_at(row, i), record);
  }
}

void add_rows(std::string_view key, const Grid& grid, JsonRecord& record) {
  record.open_list(key);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    JsonRecord item;
    add_row(grid, row, item);
    record.item(std::move(item));
  }
  record.close_list();
}

CellValue short_cell(std::string_view type) {
  std::string name = short_type_name(type);
  return name == type ? CellValue() : CellValue(std::move(name));
}

}  // namespace heapattach
