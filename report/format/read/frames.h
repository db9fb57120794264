#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "report/format/read/piece.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

// What the record of a thread or fiber says of its stack.
struct RawStack {
  snapshot::Stack stack;
  bool has_frames = false;
};

// Reads the stacks of a piece's threads and fibers. Frames at one place are written alike and kept
// once.
class Frames {
 public:
  explicit Frames(Piece& piece) : piece_(piece) {}

  // Whether `key` is one of a stack's.
  [[nodiscard]] static bool is_key(std::string_view key);
  // The value of such a key.
  bool read(JsonCursor& json, std::string_view key, RawStack& out);
  // Its number among the piece's; none if there was nothing of it.
  std::optional<std::uint32_t> keep(RawStack stack);

 private:
  bool read_frame(JsonCursor& json, snapshot::Stack& out);

  Piece& piece_;
  std::unordered_map<std::string, snapshot::Frame> known_;  // by what is written of them
};

}  // namespace heapattach::read
