#include <array>
#include <cstring>

#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

namespace {

constexpr std::size_t kDirectBytes = 5;                           // e8 and 32 bits
constexpr std::array<std::size_t, 5> kOtherBytes{2, 3, 4, 6, 7};  // ff /2 with its operand

unsigned byte_at(std::span<const std::byte> code, std::size_t index) {
  return std::to_integer<unsigned>(code[index]);
}

}  // namespace

std::optional<CallBefore> call_before(const Module& module, RemoteAddr at) {
  constexpr std::size_t kLongest = 7;
  constexpr unsigned kDirect = 0xe8;
  constexpr unsigned kOther = 0xff;
  if (at.value < kLongest) return {};
  const auto code = module.file_bytes(RemoteAddr{at.value - kLongest});
  if (code.size() < kLongest) return {};
  for (const std::size_t bytes : kOtherBytes) {
    const std::size_t first = kLongest - bytes;
    const bool is_call =
        byte_at(code, first) == kOther && (byte_at(code, first + 1) >> 3U & 7U) == 2;
    if (is_call) return CallBefore{};
  }
  if (byte_at(code, kLongest - kDirectBytes) != kDirect) return {};
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + kLongest - sizeof distance, sizeof distance);
  return CallBefore{RemoteAddr{at.value + static_cast<std::uint64_t>(std::int64_t{distance})}};
}

bool begins_with_frame(const Module& module, RemoteAddr start) {
  // endbr64; push %rbp; mov %rsp,%rbp, in either of its two encodings.
  constexpr std::array<unsigned, 4> kMark{0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::array<unsigned, 4> kFrame{0x55, 0x48, 0x89, 0xe5};
  constexpr std::array<unsigned, 4> kOtherFrame{0x55, 0x48, 0x8b, 0xec};
  auto code = module.file_bytes(start);
  const auto begins_with = [&](const std::array<unsigned, 4>& bytes) {
    if (code.size() < bytes.size()) return false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (byte_at(code, i) != bytes[i]) return false;
    }
    return true;
  };
  if (begins_with(kMark)) code = code.subspan(kMark.size());
  return begins_with(kFrame) || begins_with(kOtherFrame);
}

}  // namespace heapattach::unwind::x86_64
