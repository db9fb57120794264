#include "inject/arch/in_place_frame.h"

#include <cstring>

#include "attach/base/word.h"
#include "inject/arch/stub.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kExtendedAlignment = 64;             // xrstor faults without it
constexpr std::size_t kBlockWords = kArgumentRegisters + 2;  // + 2: errno's address and value
constexpr std::uint64_t kRoom = std::uint64_t{64} << 10;

}  // namespace

Result<InPlaceFrame> make_in_place_frame(const RawRegisters& found,
                                         RemoteAddr stub,
                                         const InPlaceFunction& function,
                                         std::span<const std::byte> extended) {
  const std::uint64_t end = stack_pointer(found).value - kStackBytes;
  const std::uint64_t general = (end - sizeof found) & ~(kWordBytes - 1);
  const std::uint64_t saved = (general - extended.size()) & ~(kExtendedAlignment - 1);
  const std::uint64_t block = saved - kBlockWords * kWordBytes;
  RawRegisters below = found;
  set_stack_pointer(below, {block});
  const CallFrame call = HA_TRY(make_call_frame(below, function.function, function.arguments));

  InPlaceFrame frame;
  // The return address is left out: where it belongs on the stack, the stub pushes it.
  frame.at = call.stack_after();
  frame.bytes.resize(end - frame.at.value);
  const auto put = [&](std::uint64_t address, const void* bytes, std::size_t count) {
    std::memcpy(frame.bytes.data() + (address - frame.at.value), bytes, count);
  };
  put(frame.at.value, call.stack.data() + kReturnBytes, call.stack.size() - kReturnBytes);
  const auto words = arguments_in(call.registers);
  put(block, words.data(), sizeof words);
  put(saved, extended.data(), extended.size());
  put(general, &found, sizeof found);
  frame.saved_errno = {block + kArgumentRegisters * kWordBytes};
  frame.registers = call.registers;
  set_instruction_pointer(frame.registers, stub);
  set_stack_pointer(frame.registers, frame.at);
  give_to_stub(frame.registers, function, {saved}, {block});
  return frame;
}

bool has_room(const MemoryMap& map, const RawRegisters& found, const InPlaceFrame& frame) {
  const Mapping* mapping = map.find(stack_pointer(found));
  if (mapping == nullptr || !mapping->writable || !mapping->range.contains(frame.at)) return false;
  // The kernel extends the first thread's stack when it is used.
  return mapping->path == "[stack]" || frame.at - mapping->range.start >= kRoom;
}

}  // namespace heapattach
