#pragma once

#include <string>
#include <string_view>

#include "report/format/read/frames.h"
#include "report/format/read/piece.h"

namespace heapattach::read {

// Reads a line that is no object, as its record says: the header, types, threads, fibers, roots,
// the end. Records and keys that are not known are checked and passed over.
class Records {
 public:
  explicit Records(Piece& piece) : piece_(piece), frames_(piece) {}

  // What kind of record a line is; empty, and `wrong` says why, if it is none.
  static std::string kind_of(std::string_view line, std::string& wrong);
  // What is wrong with it, empty if nothing. `line` was looked at by kind_of.
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
