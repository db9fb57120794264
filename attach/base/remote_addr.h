#pragma once

#include <compare>
#include <cstdint>

#include <fmt/format.h>

namespace heapattach {

// An address in the target. It is not a pointer, because it cannot be dereferenced here, and it
// does not convert to or from FileAddr.
struct RemoteAddr {
  std::uint64_t value = 0;

  friend auto operator<=>(RemoteAddr, RemoteAddr) = default;
  friend constexpr RemoteAddr operator+(RemoteAddr a, std::uint64_t n) { return {a.value + n}; }
  friend constexpr RemoteAddr operator-(RemoteAddr a, std::uint64_t n) { return {a.value - n}; }
  friend constexpr std::uint64_t operator-(RemoteAddr a, RemoteAddr b) { return a.value - b.value; }
};

// An address in one module as the linker assigned it, before the module was loaded.
struct FileAddr {
  std::uint64_t value = 0;

  friend auto operator<=>(FileAddr, FileAddr) = default;
};

// A range of the target's address space. `start + bytes` does not wrap around: code that builds a
// Range from the target's numbers checks that first.
struct Range {
  RemoteAddr start;
  std::uint64_t bytes = 0;

  [[nodiscard]] constexpr RemoteAddr end() const { return start + bytes; }
  [[nodiscard]] constexpr bool contains(RemoteAddr at) const { return at - start < bytes; }
  friend auto operator<=>(const Range&, const Range&) = default;
};

}  // namespace heapattach

// Defined in a .cpp file; otherwise every file that uses an address would have to compile all of
// fmt.
template <>
struct fmt::formatter<heapattach::RemoteAddr> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(heapattach::RemoteAddr addr, format_context& ctx) const;
};

template <>
struct fmt::formatter<heapattach::FileAddr> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(heapattach::FileAddr addr, format_context& ctx) const;
};
