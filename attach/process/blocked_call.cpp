#include "attach/process/blocked_call.h"

#include <charconv>
#include <vector>

namespace heapattach {

namespace {

std::optional<std::uint64_t> parse_hex(std::string_view word) {
  if (!word.starts_with("0x")) return std::nullopt;
  word.remove_prefix(2);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<BlockedCall> parse_blocked_call(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t length = text.find_first_of(" \n");
    if (length != 0) words.push_back(text.substr(0, length));
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  }
  // "<number> <six arguments> <sp> <pc>", or "-1 <sp> <pc>": proc(5).
  if (words.size() != 3 && words.size() != 9) return std::nullopt;
  BlockedCall call;
  const std::string_view first = words.front();
  const auto parsed = std::from_chars(first.data(), first.data() + first.size(), call.number);
  const auto stack_pointer = parse_hex(words[words.size() - 2]);
  const auto instruction_pointer = parse_hex(words.back());
  if (parsed.ec != std::errc() || !stack_pointer || !instruction_pointer) return std::nullopt;
  for (std::size_t i = 0; i < call.arguments.size() && words.size() == 9; ++i) {
    const auto argument = parse_hex(words[i + 1]);
    if (!argument) return std::nullopt;
    call.arguments[i] = *argument;
  }
  call.stack_pointer = {*stack_pointer};
  call.instruction_pointer = {*instruction_pointer};
  return call;
}

}  // namespace heapattach
