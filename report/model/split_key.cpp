#include "report/model/split_key.h"

#include <charconv>
#include <system_error>

namespace heapattach::snapshot {

namespace {

// Reads an offset in bytes, and converts it to words.
bool read_offset(std::string_view text, std::uint32_t& words) {
  std::uint64_t offset = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, offset);
  if (failure != std::errc{} || rest != end || (text.size() > 1 && text[0] == '0')) return false;
  words = static_cast<std::uint32_t>(offset / 8);
  return offset % 8 == 0 && offset / 8 <= 0xffffffff;
}

}  // namespace

const char* read_number(const char* at, const char* end, std::uint32_t& out) {
  if (at == end || *at < '0' || *at > '9') return nullptr;
  const auto [rest, failure] = std::from_chars(at, end, out);
  if (failure != std::errc{} || (*at == '0' && rest - at > 1)) return nullptr;
  return rest;
}

SplitKey split_key(std::string_view text) {
  SplitKey split{text, {}, 0, 0};
  if (text.starts_with('+')) {
    if (read_offset(text.substr(1), split.number)) split = {text.substr(0, 1), {}, 8, split.number};
    return split;
  }
  const char* const end = text.data() + text.size();
  for (std::size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
    std::uint32_t number = 0;
    const char* const rest = read_number(text.data() + open + 1, end, number);
    if (rest == nullptr || rest == end || *rest != ']') continue;
    const auto behind = static_cast<std::size_t>(rest - text.data());
    return {text.substr(0, open + 1), text.substr(behind), 1, number};
  }
  return split;
}

}  // namespace heapattach::snapshot
