#include <cstring>

#include "attach/base/check.h"
#include "inject/trace/arch/jump.h"
#include "symbols/code/arch/instructions_aarch64.h"

// The jump is b, with a distance of 26 bits, counted in instructions.

namespace heapattach::trace {

namespace on_aarch64 {

using heapattach::aarch64::kInstructionBytes;

namespace {

constexpr std::uint32_t kJump = 0x14000000;
constexpr std::uint32_t kReturn = 0xd65f03c0;
constexpr unsigned kDistanceBits = 26;

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from) / std::int64_t{kInstructionBytes};
}

}  // namespace

bool can_jump(std::uint64_t from, std::uint64_t to) {
  const bool is_aligned = from % kInstructionBytes == 0 && to % kInstructionBytes == 0;
  const auto instructions = static_cast<std::uint64_t>(distance(from, to));
  return is_aligned &&
         heapattach::aarch64::with_sign(instructions, kDistanceBits) == distance(from, to);
}

std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to) {
  HA_CHECK(can_jump(from, to));
  const auto instructions = static_cast<std::uint32_t>(distance(from, to));
  const std::uint32_t word = kJump | (instructions & ((1U << kDistanceBits) - 1));
  std::vector<std::byte> code(kInstructionBytes);
  std::memcpy(code.data(), &word, sizeof word);
  return code;
}

bool follows_call(std::span<const std::byte> code, std::size_t at) {
  if (at < kInstructionBytes || at % kInstructionBytes != 0) return false;
  const std::uint32_t word = heapattach::aarch64::word_at(code, at / kInstructionBytes - 1);
  return heapattach::aarch64::direct_jump(word, true).has_value();
}

// In a page where only marked instructions may be called (PROT_BTI), a call of an unmarked one
// would be fatal. Code for such pages begins with a mark.
std::optional<std::size_t> find_return(std::span<const std::byte> code, std::size_t from) {
  using heapattach::aarch64::is_landing_mark;
  using heapattach::aarch64::word_at;
  const bool must_be_marked = is_landing_mark(word_at(code, 0));
  for (std::size_t i = from / kInstructionBytes; i < code.size() / kInstructionBytes; ++i) {
    if (word_at(code, i) != kReturn) continue;
    if (!must_be_marked) return i * kInstructionBytes;
    constexpr std::uint32_t kMark = 0xd503245f;  // bti c
    if (i > 0 && word_at(code, i - 1) == kMark) return (i - 1) * kInstructionBytes;
  }
  return std::nullopt;
}

}  // namespace on_aarch64

#ifdef __aarch64__
bool can_jump(std::uint64_t from, std::uint64_t to) {
  return on_aarch64::can_jump(from, to);
}

std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to) {
  return on_aarch64::jump(from, to);
}

bool follows_call(std::span<const std::byte> code, std::size_t at) {
  return on_aarch64::follows_call(code, at);
}

std::optional<std::size_t> find_return(std::span<const std::byte> code, std::size_t from) {
  return on_aarch64::find_return(code, from);
}
#endif

}  // namespace heapattach::trace
