#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "report/format/read/piece.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

// The stack as read from the record of a thread or fiber.
struct RawStack {
  snapshot::Stack stack;
  bool has_frames = false;
};

// Reads the stacks of a piece's threads and fibers. Frames at the same location have the same text
// and are stored once.
class Frames {
 public:
  explicit Frames(Piece& piece) : piece_(piece) {}

  // Whether `key` belongs to a stack.
  [[nodiscard]] static bool is_key(std::string_view key);
  // Reads the value of such a key.
  bool read(JsonCursor& json, std::string_view key, RawStack& out);
  // Stores a stack and returns its index in the piece; none if the record had no stack.
  std::optional<std::uint32_t> keep(RawStack stack);

 private:
  bool read_frame(JsonCursor& json, snapshot::Stack& out);

  Piece& piece_;
  std::unordered_map<std::string, snapshot::Frame> known_;  // by their text
};

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
