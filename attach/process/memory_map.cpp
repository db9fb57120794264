#include "attach/process/memory_map.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <sys/sysmacros.h>

namespace heapattach {

namespace {

// Takes pieces off the front of one line. `ok` stays false after the first mismatch.
struct Cursor {
  std::string_view rest;
  bool ok = true;

  // By hand: there are five in a line, and there may be 200,000 lines.
  std::uint64_t hex() {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest.size(); ++digits) {
      const unsigned digit = static_cast<unsigned char>(rest[digits]);
      const unsigned decimal = digit - '0';
      const unsigned letter = digit - 'a';  // as the kernel writes them
      if (decimal > 9 && letter > 5) break;
      if (value >> 60U != 0) ok = false;
      value = value << 4U | (decimal <= 9 ? decimal : letter + 10);
    }
    if (digits == 0) ok = false;
    rest.remove_prefix(digits);
    return value;
  }
  std::uint64_t decimal() {
    std::uint64_t value = 0;
    const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (failed != std::errc()) ok = false;
    if (ok) rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  }
  char letter() {
    if (rest.empty()) ok = false;
    if (!ok) return '\0';
    const char first = rest.front();
    rest.remove_prefix(1);
    return first;
  }
  void expect(char wanted) {
    if (letter() != wanted) ok = false;
  }
  bool flag(char set, char alternative) {
    const char found = letter();
    if (found != set && found != alternative) ok = false;
    return found == set;
  }
};

// The kernel escapes newlines in a path, and nothing else (show_map_vma: seq_path(…, "\n")).
std::string unescaped(std::string_view path) {
  constexpr std::string_view kNewline = "\\012";
  std::string text;
  text.reserve(path.size());
  for (std::size_t at = 0;;) {
    const std::size_t next = path.find(kNewline, at);
    text += path.substr(at, next - at);
    if (next == std::string_view::npos) return text;
    text += '\n';
    at = next + kNewline.size();
  }
}

std::optional<Mapping> parse_line(std::string_view line) {
  Cursor cursor{line};
  Mapping mapping;
  const std::uint64_t start = cursor.hex();
  cursor.expect('-');
  const std::uint64_t end = cursor.hex();
  cursor.expect(' ');
  mapping.readable = cursor.flag('r', '-');
  mapping.writable = cursor.flag('w', '-');
  mapping.executable = cursor.flag('x', '-');
  mapping.is_private = cursor.flag('p', 's');
  cursor.expect(' ');
  mapping.file_offset = cursor.hex();
  cursor.expect(' ');
  const std::uint64_t device_major = cursor.hex();
  cursor.expect(':');
  const std::uint64_t device_minor = cursor.hex();
  cursor.expect(' ');
  mapping.inode = cursor.decimal();
  if (!cursor.ok || end <= start) return std::nullopt;
  mapping.range = {{start}, end - start};
  mapping.device =
      makedev(static_cast<unsigned>(device_major), static_cast<unsigned>(device_minor));

  std::string_view path = cursor.rest;
  path.remove_prefix(std::min(path.find_first_not_of(' '), path.size()));
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) {
    mapping.is_deleted = true;
    path.remove_suffix(kDeleted.size());
  }
  mapping.path = unescaped(path);
  return mapping;
}

}  // namespace

const Mapping* MemoryMap::find(RemoteAddr at) const {
  auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), at,
      [](RemoteAddr addr, const Mapping& mapping) { return addr < mapping.range.start; });
  if (after == mappings_.begin()) return nullptr;
  --after;
  return after->range.contains(at) ? &*after : nullptr;
}

Result<MemoryMap> parse_maps(std::string_view text) {
  std::vector<Mapping> mappings;
  mappings.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    auto mapping = parse_line(line);
    // The kernel lists mappings by rising address, also while they change.
    const bool in_order =
        mapping && (mappings.empty() || mappings.back().range.end() <= mapping->range.start);
    if (!in_order) {
      return Error{ErrorKind::Malformed,
                   fmt::format("line {} of the memory map: '{}'", number, line.substr(0, 200))};
    }
    mappings.push_back(*std::move(mapping));
  }
  return MemoryMap(std::move(mappings));
}

}  // namespace heapattach
