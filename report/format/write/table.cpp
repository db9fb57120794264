#include "report/format/write/table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

constexpr std::size_t kGap = 2;         // between two columns
constexpr std::size_t kLeastText = 16;  // shorter texts cannot be distinguished

std::string with_separators(std::string digits) {
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::uint64_t magnitude_of(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

}  // namespace

std::string count_cell(std::uint64_t count, const TextStyle& style) {
  std::string digits = std::to_string(count);
  return style.with_separators ? with_separators(std::move(digits)) : digits;
}

std::string bytes_cell(std::uint64_t bytes, const TextStyle& style) {
  return style.with_units ? human_bytes(bytes) : count_cell(bytes, style);
}

std::string growth_cell(std::int64_t count, const TextStyle& style) {
  return (count < 0 ? "-" : "+") + count_cell(magnitude_of(count), style);
}

std::string growth_bytes_cell(std::int64_t bytes, const TextStyle& style) {
  return (bytes < 0 ? "-" : "+") + bytes_cell(magnitude_of(bytes), style);
}

Table::Table(std::vector<std::string> head) : head_{std::move(head)} {}

void Table::add(std::vector<std::string> cells, Kind kind) {
  cells.resize(head_.cells.size());
  lines_.push_back({std::move(cells), kind});
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const std::string& cell : head_.cells) widths.push_back(cell.size());
  for (const Line& line : lines_) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      widths[i] = std::max(widths[i], line.cells[i].size());
    }
  }
  return widths;
}

std::string Table::format(const TextStyle& style) const {
  const std::vector<std::size_t> width = widths();
  const std::size_t numbers = width.size() - 1;
  std::size_t used = 0;
  for (std::size_t i = 0; i < numbers; ++i) used += width[i] + kGap;
  const std::size_t left = style.columns - std::min(style.columns, used);
  std::string out;
  const auto append = [&](const Line& line, std::string_view colour) {
    out += colour;
    for (std::size_t i = 0; i < numbers; ++i) {
      fmt::format_to(std::back_inserter(out), "{:>{}}{:{}}", line.cells[i], width[i], "", kGap);
    }
    const std::string& text = line.cells.back();
    out += style.columns == 0 ? text : shortened(text, std::max(left, kLeastText));
    out += colour.empty() ? "\n" : "\x1b[0m\n";
  };
  append(head_, style.with_colour ? "\x1b[1m" : "");
  for (const Line& line : lines_) {
    append(line, style.with_colour && line.kind == Kind::Total ? "\x1b[2m" : "");
  }
  return out;
}

}  // namespace heapattach
