#include <array>
#include <cstring>

#include <fmt/format.h>

#include "attach/base/word.h"
#include "inject/arch/call_frame.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kStackAlignment = 16;
constexpr std::size_t kInRegisters = 6;
// The ABI wants the direction flag clear; a function must not depend on the others.
constexpr std::uint64_t kFlags = 0x202;

std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value & ~(alignment - 1);
}

}  // namespace

Result<CallFrame> make_call_frame(const RawRegisters& found,
                                  RemoteAddr function,
                                  std::span<const CallArgument> arguments) {
  std::size_t text_bytes = 0;
  for (const CallArgument& argument : arguments) {
    if (const auto* text = std::get_if<std::string>(&argument)) text_bytes += text->size() + 1;
  }
  if (text_bytes > kMostTextBytes) {
    return Error{ErrorKind::Impossible,
                 fmt::format("the string arguments take {} bytes, and at most {} can be passed",
                             text_bytes, kMostTextBytes)};
  }
  const std::uint64_t texts = align_down(found.rsp - text_bytes, kStackAlignment);
  const std::size_t on_stack =
      arguments.size() > kInRegisters ? arguments.size() - kInRegisters : 0;
  // At the call instruction the stack is aligned; it pushes the return address.
  const std::uint64_t at = align_down(texts - on_stack * kWordBytes, kStackAlignment) - kWordBytes;

  CallFrame frame;
  frame.at = {at};
  frame.stack.resize(texts - at + text_bytes);
  const auto put = [&](std::uint64_t address, const void* bytes, std::size_t count) {
    std::memcpy(frame.stack.data() + (address - at), bytes, count);
  };
  put(at, &kReturnAddress.value, kWordBytes);
  std::vector<std::uint64_t> words;
  std::uint64_t next_text = texts;
  for (const CallArgument& argument : arguments) {
    if (const auto* text = std::get_if<std::string>(&argument)) {
      put(next_text, text->c_str(), text->size() + 1);
      words.push_back(next_text);
      next_text += text->size() + 1;
    } else {
      words.push_back(std::get<std::uint64_t>(argument));
    }
  }
  if (on_stack > 0) put(at + kWordBytes, words.data() + kInRegisters, on_stack * kWordBytes);
  words.resize(std::max(words.size(), kInRegisters));

  RawRegisters& in = frame.registers;
  in = found;
  in.rip = function.value;
  in.rsp = at;
  in.rbp = 0;  // the chain of frames ends here
  in.rax = 0;  // no vector registers hold arguments
  const std::array slots{&in.rdi, &in.rsi, &in.rdx, &in.rcx, &in.r8, &in.r9};
  for (std::size_t i = 0; i < slots.size(); ++i) *slots[i] = words[i];
  in.eflags = kFlags;
  in.orig_rax = static_cast<std::uint64_t>(-1);  // in no call, so the kernel restarts nothing
  return frame;
}

std::uint64_t function_result(const RawRegisters& now) {
  return now.rax;
}

bool has_returned(const CallFrame& frame, const RawRegisters& now) {
  return now.rip == kReturnAddress.value && now.rsp == frame.stack_after().value;
}

}  // namespace heapattach
