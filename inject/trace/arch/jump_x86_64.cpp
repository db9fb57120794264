#include <algorithm>
#include <cstring>

#include "attach/base/check.h"
#include "inject/trace/arch/jump.h"

// The jump is e9 and a distance of 32 bits, counted from the end of the instruction.

namespace heapattach::trace {

namespace {

constexpr std::byte kJump{0xe9};
constexpr std::byte kCall{0xe8};
constexpr std::size_t kCallBytes = 5;
constexpr std::byte kReturn{0xc3};

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from - kJumpBytes);
}

}  // namespace

bool can_jump(std::uint64_t from, std::uint64_t to) {
  const std::int64_t bytes = distance(from, to);
  return bytes == static_cast<std::int32_t>(bytes);
}

std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to) {
  HA_CHECK(can_jump(from, to));
  const auto bytes = static_cast<std::int32_t>(distance(from, to));
  std::vector<std::byte> code(kJumpBytes, kJump);
  std::memcpy(code.data() + 1, &bytes, sizeof bytes);
  return code;
}

bool follows_call(std::span<const std::byte> code, std::size_t at) {
  return at >= kCallBytes && code[at - kCallBytes] == kCall;
}

std::optional<std::size_t> find_return(std::span<const std::byte> code, std::size_t from) {
  if (from >= code.size()) return std::nullopt;
  const auto found =
      std::find(code.begin() + static_cast<std::ptrdiff_t>(from), code.end(), kReturn);
  if (found == code.end()) return std::nullopt;
  return static_cast<std::size_t>(found - code.begin());
}

}  // namespace heapattach::trace
