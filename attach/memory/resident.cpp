#include "attach/memory/resident.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/page.h"

namespace heapattach {

namespace {

// "Rss:                 123 kB"; nothing for other lines.
bool read_rss(std::string_view line, std::uint64_t& bytes) {
  constexpr std::string_view kKey = "Rss:";
  if (!line.starts_with(kKey)) return false;
  line.remove_prefix(kKey.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  std::uint64_t kilobytes = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), kilobytes);
  if (read.ec != std::errc{} || kilobytes > (std::uint64_t{1} << 40)) return false;
  bytes = kilobytes * 1024;
  return true;
}

// The detail lines of a mapping begin with a capital letter, its first line with a hex digit.
bool begins_mapping(std::string_view line) {
  return !line.empty() &&
         ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'));
}

}  // namespace

Result<std::vector<ResidentMapping>> parse_smaps(std::string_view text) {
  std::string maps;
  std::vector<std::uint64_t> resident;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    if (begins_mapping(line)) {
      maps.append(line).append("\n");
      resident.push_back(0);
    } else if (!resident.empty()) {
      read_rss(line, resident.back());
    }
  }
  const MemoryMap map = HA_TRY(parse_maps(maps));
  std::vector<ResidentMapping> found;
  found.reserve(resident.size());
  for (std::size_t i = 0; i < map.mappings().size(); ++i) {
    found.push_back({map.mappings()[i], resident[i]});
  }
  return found;
}

PageState page_state(std::uint64_t entry) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 56;
  const bool is_present = (entry & kPresent) != 0;
  return {is_present, is_present && (entry & kOwn) != 0, (entry & kSwapped) != 0,
          (entry & kOfFile) != 0};
}

Result<std::vector<PageState>> read_pages(const Process& process, Range range) {
  const Fd file = HA_TRY(process.open_file("pagemap", O_RDONLY));
  const std::uint64_t first = range.start.value / page_bytes();
  std::vector<std::uint64_t> entries((range.end().value + page_bytes() - 1) / page_bytes() - first);
  const std::size_t wanted = entries.size() * sizeof(std::uint64_t);
  std::vector<std::byte> bytes(wanted);
  std::size_t done = 0;
  while (done < wanted) {
    const auto at = static_cast<off_t>(first * sizeof(std::uint64_t) + done);
    const auto got = ::pread(file.get(), bytes.data() + done, wanted - done, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading pagemap", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  std::memcpy(entries.data(), bytes.data(), wanted);
  std::vector<PageState> pages;
  pages.reserve(entries.size());
  for (const std::uint64_t entry : entries) pages.push_back(page_state(entry));
  return pages;
}

}  // namespace heapattach
