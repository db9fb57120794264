#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/format/export/stream.h"

namespace heapattach {

// Builds a message in protobuf's wire format, field after field. It is built in memory, because
// messages here are small.
class ProtobufMessage {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  void bytes(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    text_ += value;
  }
  void message(std::uint32_t field, const ProtobufMessage& value) { bytes(field, value.text_); }
  // Adds an element of a packed field, which is a message that consists only of numbers.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  // Adds all fields of another message.
  void append(const ProtobufMessage& other) { text_ += other.text_; }

  void clear() { text_.clear(); }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string text_;
};

// Writes a field of the outermost message.
inline void put_message(ExportStream& out, std::uint32_t field, const ProtobufMessage& message) {
  ProtobufMessage framed;
  framed.message(field, message);
  out.put(framed.text());
}

}  // namespace heapattach
