#include "attach/memory/untouched.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "attach/base/page.h"
#include "attach/memory/resident.h"

namespace heapattach {

namespace {

constexpr std::size_t kLongestText = std::size_t{512} << 20;  // as Process reads
constexpr std::uint64_t kMostPages = 4096;                    // looked up at once
constexpr std::size_t kLeastRun = 16;  // of absent pages; a shorter one is read with its neighbours

// The number of absent pages at the beginning, if they are many, or all.
std::size_t first_run(std::span<const std::uint64_t> pages) {
  std::size_t count = 0;
  while (count < pages.size() && !is_used(page_state(pages[count]))) ++count;
  return count >= kLeastRun || count == pages.size() ? count : 0;
}

// Whether absent pages of the mapping are zeros. A mapping without the right to read must fail.
bool has_zeros(const Mapping& mapping) {
  return mapping.is_anonymous() && mapping.is_private && mapping.readable &&
         !mapping.path.starts_with("[v");
}

void add(std::uint64_t bytes, bool is_untouched, std::vector<UntouchedMemory::Part>& parts) {
  if (bytes == 0) return;
  if (!parts.empty() && parts.back().is_untouched == is_untouched) {
    parts.back().bytes += bytes;
  } else {
    parts.push_back({bytes, is_untouched});
  }
}

// Divides an absent range: what is not in `zeros` must be read.
void divide(Range absent, std::span<const Range> zeros, std::vector<UntouchedMemory::Part>& parts) {
  auto next = std::partition_point(zeros.begin(), zeros.end(),
                                   [&](const Range& one) { return one.end() <= absent.start; });
  RemoteAddr at = absent.start;
  for (; next != zeros.end() && next->start < absent.end(); ++next) {
    const RemoteAddr first = std::max(at, next->start);
    const RemoteAddr last = std::min(absent.end(), next->end());
    add(first - at, false, parts);
    add(last - first, true, parts);
    at = last;
  }
  add(absent.end() - at, false, parts);
}

}  // namespace

UntouchedMemory UntouchedMemory::of(const Process& process) {
  auto maps = process.open_file("maps", O_RDONLY);
  auto pagemap = process.open_file("pagemap", O_RDONLY);
  if (!maps || !pagemap) return {Fd(), Fd()};
  return {std::move(*maps), std::move(*pagemap)};
}

// The map is read after the pages: what was absent and then became private anonymous memory was
// zero at that moment. In the other order, a file may have been mapped in between.
std::vector<UntouchedMemory::Part> UntouchedMemory::first_parts(Range range) const {
  if (range.bytes == 0) return {};
  const bool is_known = !pagemap_.empty() && range.start < range.end();
  if (!is_known || range.bytes < kLeastBytes) return {{range.bytes, false}};
  const std::uint64_t first = range.start.value / page_bytes();
  const std::uint64_t end = (range.end().value - 1) / page_bytes() + 1;
  std::vector<std::uint64_t> pages(std::min(end - first, kMostPages));
  const ssize_t got = pread(pagemap_.get(), pages.data(), pages.size() * sizeof pages[0],
                            static_cast<off_t>(first * sizeof pages[0]));
  if (got < static_cast<ssize_t>(sizeof pages[0])) return {{range.bytes, false}};
  pages.resize(static_cast<std::size_t>(got) / sizeof pages[0]);

  const auto address_of = [&](std::size_t page) {
    const RemoteAddr at{(first + page) * page_bytes()};
    return std::clamp(at, range.start, range.end());
  };
  std::vector<Part> parts;
  std::optional<std::vector<Range>> zeros;
  for (std::size_t i = 0; i < pages.size();) {
    const std::size_t absent = first_run(std::span(pages).subspan(i));
    const RemoteAddr from = address_of(i);
    i += std::max<std::size_t>(absent, 1);
    if (absent == 0) {
      add(address_of(i) - from, false, parts);
      continue;
    }
    if (!zeros) zeros = this->zeros();
    divide({from, address_of(i) - from}, *zeros, parts);
  }
  return parts;
}

// Memory whose absent pages are zeros, sorted; none if the map cannot be read.
std::vector<Range> UntouchedMemory::zeros() const {
  const std::lock_guard lock(mutex_);
  const auto read = [&]() -> Result<std::string> {
    if (lseek(maps_.get(), 0, SEEK_SET) != 0) return os_error("lseek", errno);
    return read_all(maps_, kLongestText);
  };
  const auto map = read_maps(read, 0);
  if (!map) return {};
  std::vector<Range> zeros;
  for (const Mapping& mapping : map->mappings()) {
    if (has_zeros(mapping)) zeros.push_back(mapping.range);
  }
  return zeros;
}

}  // namespace heapattach
