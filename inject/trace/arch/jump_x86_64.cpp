#include <cstring>

#include "attach/base/check.h"
#include "inject/trace/arch/jump.h"

// e9 and a distance of 32 bits, counted from the end of the instruction.

namespace heapattach::trace {

namespace {

constexpr std::byte kJump{0xe9};

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

}  // namespace heapattach::trace
