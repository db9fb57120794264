#include <array>
#include <cstring>

#include "attach/base/word.h"
#include "inject/arch/in_place_frame.h"
#include "inject/arch/stub.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kExtendedAlignment = 64;  // xrstor faults otherwise
constexpr std::size_t kInRegisters = 6;
constexpr std::size_t kBlockWords = 8;  // the arguments, errno's address and value
constexpr std::uint64_t kRoom = std::uint64_t{64} << 10;

}  // namespace

Result<InPlaceFrame> make_in_place_frame(const RawRegisters& found,
                                         RemoteAddr stub,
                                         const InPlaceFunction& function,
                                         std::span<const std::byte> extended) {
  const std::uint64_t end = found.rsp - kStackBytes;
  const std::uint64_t general = (end - sizeof found) & ~(kWordBytes - 1);
  const std::uint64_t saved = (general - extended.size()) & ~(kExtendedAlignment - 1);
  RawRegisters below = found;
  below.rsp = saved - kBlockWords * kWordBytes;
  const CallFrame call = HA_TRY(make_call_frame(below, function.function, function.arguments));

  InPlaceFrame frame;
  // The return address is pushed by the stub.
  frame.at = call.stack_after();
  frame.bytes.resize(end - frame.at.value);
  const auto put = [&](std::uint64_t address, const void* bytes, std::size_t count) {
    std::memcpy(frame.bytes.data() + (address - frame.at.value), bytes, count);
  };
  put(frame.at.value, call.stack.data() + kWordBytes, call.stack.size() - kWordBytes);
  const RawRegisters& in = call.registers;
  const std::array<std::uint64_t, kInRegisters> words{in.rdi, in.rsi, in.rdx, in.rcx, in.r8, in.r9};
  put(below.rsp, words.data(), sizeof words);
  put(saved, extended.data(), extended.size());
  put(general, &found, sizeof found);
  frame.saved_errno = {below.rsp + kInRegisters * kWordBytes};

  frame.registers = in;
  frame.registers.rip = stub.value;
  frame.registers.rsp = frame.at.value;
  frame.registers.rbx = function.errno_location.value;
  frame.registers.r12 = function.function.value;
  frame.registers.r13 = saved;
  frame.registers.r14 = below.rsp;
  frame.registers.r15 = 0;
  return frame;
}

bool has_room(const MemoryMap& map, const RawRegisters& found, const InPlaceFrame& frame) {
  const Mapping* mapping = map.find({found.rsp});
  if (mapping == nullptr || !mapping->writable || !mapping->range.contains(frame.at)) return false;
  // The first thread's stack grows by itself.
  return mapping->path == "[stack]" || frame.at - mapping->range.start >= kRoom;
}

}  // namespace heapattach
