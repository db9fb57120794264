#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Makes the protobuf messages of a process context.
namespace heapattach::context {

inline std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U) bytes += static_cast<char>(number | 0x80U);
  return bytes + static_cast<char>(number);
}

inline std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(std::uint64_t{field} << 3U) + varint(value);
}

inline std::string field(std::uint32_t number, std::string_view bytes) {
  return varint(std::uint64_t{number} << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}

// Makes a KeyValue with a text.
inline std::string attribute(std::string_view name, std::string_view value) {
  return field(1, name) + field(2, field(1, value));
}

}  // namespace heapattach::context
