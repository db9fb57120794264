#include "inject/arch/call_frame.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "attach/base/word.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kStackAlignment = 16;

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
  const std::uint64_t texts = align_down(stack_pointer(found).value - text_bytes, kStackAlignment);
  const std::size_t on_stack =
      arguments.size() > kArgumentRegisters ? arguments.size() - kArgumentRegisters : 0;
  // The stack must be aligned at the call instruction, which pushes the return address on x86-64.
  const std::uint64_t at =
      align_down(texts - on_stack * kWordBytes, kStackAlignment) - kReturnBytes;

  CallFrame frame;
  frame.at = {at};
  frame.stack.resize(texts - at + text_bytes);
  const auto put = [&](std::uint64_t address, const void* bytes, std::size_t count) {
    std::memcpy(frame.stack.data() + (address - at), bytes, count);
  };
  if (kReturnBytes > 0) put(at, &kReturnAddress.value, kReturnBytes);
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
  if (on_stack > 0) {
    put(at + kReturnBytes, words.data() + kArgumentRegisters, on_stack * kWordBytes);
  }
  words.resize(std::max(words.size(), kArgumentRegisters));
  frame.registers =
      entering_function(found, function, at, std::span(words).first<kArgumentRegisters>());
  return frame;
}

}  // namespace heapattach
