#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heapattach {

// How to print a report for people.
struct TextStyle {
  bool with_colour = false;
  std::size_t columns = 0;       // of the terminal; 0: not a terminal, so nothing is cut
  bool with_units = false;       // sizes as "1.2 MiB", not as a number of bytes
  bool with_separators = false;  // numbers as "1,234,567"
  bool is_brief = false;         // of stacks: fold frames in the runtime and in libraries
};

// A number in a cell of a table. If the output is not a terminal, it consists only of digits, which
// awk and sort -n can read.
[[nodiscard]] std::string count_cell(std::uint64_t count, const TextStyle& style);
[[nodiscard]] std::string bytes_cell(std::uint64_t bytes, const TextStyle& style);
// A number that always has a sign.
[[nodiscard]] std::string growth_cell(std::int64_t count, const TextStyle& style);
[[nodiscard]] std::string growth_bytes_cell(std::int64_t bytes, const TextStyle& style);

// A table for people: right-aligned columns of numbers, followed by a text, which is last so that
// its width never affects a column. On a terminal, a text that is too wide is cut with an ellipsis;
// elsewhere it is never cut.
class Table {
 public:
  enum class Kind { Row, Total };  // a total is shown faint in colour

  // `head` has the headings of the columns, with that of the text last.
  explicit Table(std::vector<std::string> head);

  // Adds a row with as many cells as there are headings, the text last. Cells must be safe to show
  // and may be empty.
  void add(std::vector<std::string> cells, Kind kind = Kind::Row);

  [[nodiscard]] std::string format(const TextStyle& style) const;

 private:
  struct Line {
    std::vector<std::string> cells;
    Kind kind = Kind::Row;
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;

  Line head_;
  std::vector<Line> lines_;
};

}  // namespace heapattach
