#pragma once

#include <string>
#include <string_view>

#include "report/format/read/frames.h"
#include "report/format/read/piece.h"

namespace heapattach::read {

// Reads lines that are not objects: the header, types, threads, fibers, roots and the end record.
// Unknown records and keys are checked and skipped.
class Records {
 public:
  explicit Records(Piece& piece) : piece_(piece), frames_(piece) {}

  // The kind of the record in a line. If there is none, returns an empty string and sets `wrong` to
  // the reason.
  static std::string kind_of(std::string_view line, std::string& wrong);
  // Reads a line that was passed to kind_of() before. Returns a description of the error, empty if
  // there is none.
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
