#include "attach/process/kernel_text.h"

#include <charconv>
#include <limits>

#include <fcntl.h>

#include "attach/base/fd.h"

namespace heapattach {

std::string kernel_text(const std::string& path) {
  const auto file = Fd::open(path, O_RDONLY);
  if (!file) return {};
  auto text = read_all(*file, std::size_t{1} << 20);
  return text ? std::move(*text) : std::string();
}

std::optional<std::uint64_t> take_number(std::string_view& text, int base) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ec != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key, int base) {
  std::optional<std::uint64_t> found;
  for_each_line(text, [&](std::string_view line) {
    if (found || !line.starts_with(key)) return;
    line.remove_prefix(key.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (line.starts_with(' ') || line.starts_with('\t')) found = take_number(line, base);
  });
  return found;
}

std::optional<std::uint64_t> bytes_after(std::string_view text, std::string_view key) {
  constexpr std::uint64_t kKilobyte = 1024;
  const auto kilobytes = number_after(text, key);
  if (!kilobytes || *kilobytes > std::numeric_limits<std::uint64_t>::max() / kKilobyte) return {};
  return *kilobytes * kKilobyte;
}

}  // namespace heapattach
