#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heapattach {

// How to print a report for people.
struct TextStyle {
  bool with_colour = false;
  std::size_t columns = 0;       // of the terminal; 0: it goes elsewhere, and nothing is cut
  bool with_units = false;       // sizes as "1.2 MiB", not as a number of bytes
  bool with_separators = false;  // numbers as "1,234,567"
};

// A number in a cell of a table, formatted as `look` says; not on a terminal, it is only digits,
// which awk and sort -n can read.
[[nodiscard]] std::string count_cell(std::uint64_t count, const TextStyle& style);
[[nodiscard]] std::string bytes_cell(std::uint64_t bytes, const TextStyle& style);
// The same with a sign in any case.
[[nodiscard]] std::string growth_cell(std::int64_t count, const TextStyle& style);
[[nodiscard]] std::string growth_bytes_cell(std::int64_t bytes, const TextStyle& style);

// A table for people: right-aligned columns of numbers, and then a text, which is last so that its
// width never disturbs a column. On a terminal, a text that is too wide ends in an ellipsis;
// elsewhere it is never cut.
class Table {
 public:
  enum class Kind { Row, Total };  // a total is faint where there is colour

  // The headings of the columns, the text's last.
  explicit Table(std::vector<std::string> head);

  // As many cells as there are headings, the text last: safe to show. A cell may be empty.
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
