#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heapattach {

// How a report for people is to look where it goes.
struct Look {
  bool with_colour = false;
  std::size_t columns = 0;  // of the terminal; 0: it goes elsewhere, and nothing is cut
};

// A table for people: columns of numbers, flush right, and a text behind them, which stands last so
// that its width never disturbs a column. A text that is wider than the terminal ends in an
// ellipsis; elsewhere it stands as it is.
class Table {
 public:
  enum class Kind { Row, Total };  // a total is faint where there is colour

  // What stands above each column, the text's last.
  explicit Table(std::vector<std::string> head);

  // As many cells as the head has, the text last: safe to show. An empty cell has nothing to say.
  void add(std::vector<std::string> cells, Kind kind = Kind::Row);

  [[nodiscard]] std::string format(const Look& look) const;

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
