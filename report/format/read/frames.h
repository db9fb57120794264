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

}  // namespace heapattach::read
