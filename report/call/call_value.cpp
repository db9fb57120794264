#include "report/call/call_value.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace heapattach {

namespace {

constexpr std::size_t kMostStringBytes = std::size_t{16} << 20;

}  // namespace

Result<std::string> string_at(const MemoryReader& memory, RemoteAddr at) {
  std::string text;
  std::array<char, 4096> piece{};
  bool is_whole = false;
  while (!is_whole && text.size() < kMostStringBytes) {
    // Reads up to the end of the page, because the next page may not exist.
    const std::size_t count = piece.size() - (at.value + text.size()) % piece.size();
    const std::span<char> part = std::span(piece).first(count);
    HA_TRY(memory.read(at + text.size(), std::as_writable_bytes(part)));
    const auto end = std::find(part.begin(), part.end(), '\0');
    text.append(part.begin(), end);
    is_whole = end != part.end();
  }
  return text;
}

Result<std::string> value_text(std::uint64_t value, Returns returns, const MemoryReader& memory) {
  switch (returns) {
    case Returns::Int: return fmt::format("{}", static_cast<std::int32_t>(value));
    case Returns::Pointer: return fmt::format("{:#x}", value);
    case Returns::Long: return fmt::format("{}", static_cast<std::int64_t>(value));
    case Returns::None: return std::string();
    case Returns::String: break;
  }
  if (value == 0) return std::string("null");
  auto text = string_at(memory, {value});
  if (text) return text;
  return Error{ErrorKind::Os, fmt::format("the value {:#x}, which it returned, is not a string: {}",
                                          value, text.error().message())}
      .advise("--returns long");
}

}  // namespace heapattach
