#pragma once

#include <string>
#include <string_view>

#include "report/format/read/frames.h"
#include "report/format/read/piece.h"

namespace heapattach::read {

// Reads a line that is not an object, by its record: the header, types, threads, fibers, roots, the
// end. Unknown records and keys are checked and skipped.
class Records {
 public:
  explicit Records(Piece& piece) : piece_(piece), frames_(piece) {}

  // The kind of record in a line; if there is none, empty, and `wrong` has the reason.
  static std::string kind_of(std::string_view line, std::string& wrong);
  // Returns what is wrong with it, empty if nothing. `line` was passed to kind_of before.
  std::string read(std::string_view kind, std::string_view line);

 private:
  void read_header(std::string_view line);
  void read_type(std::string_view line);
  void read_thread(std::string_view line);
  void read_fiber(std::string_view line);
  void read_root(std::string_view line);
  void read_end(std::string_view line);

  Piece& piece_;
  Frames frames_;
  std::string wrong_;
};

}  // namespace heapattach::read
