#include "attach/memory/untouched.h"

#include <algorithm>
#include <span>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "attach/base/page.h"
#include "attach/memory/resident.h"

namespace heapattach {

namespace {

constexpr std::size_t kLongestText = std::size_t{512} << 20;  // as Process reads
// A caller interprets memory by a map of its own, which is about as old.
constexpr std::chrono::seconds kOldest{1};

constexpr std::uint64_t kMostPages = 4096;  // looked up at once
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

}  // namespace

UntouchedMemory UntouchedMemory::of(const Process& process) {
  auto maps = process.open_file("maps", O_RDONLY);
  auto pagemap = process.open_file("pagemap", O_RDONLY);
  if (!maps || !pagemap) return {Fd(), Fd()};
  return {std::move(*maps), std::move(*pagemap)};
}

UntouchedMemory::Part UntouchedMemory::first_part(Range range) const {
  if (pagemap_.empty() || range.bytes < kLeastBytes) return {range.bytes, false};
  const std::uint64_t first = range.start.value / page_bytes();
  const std::uint64_t end = (range.end().value + page_bytes() - 1) / page_bytes();
  std::vector<std::uint64_t> pages(std::min(end - first, kMostPages));
  const ssize_t got = pread(pagemap_.get(), pages.data(), pages.size() * sizeof pages[0],
                            static_cast<off_t>(first * sizeof pages[0]));
  if (got < static_cast<ssize_t>(sizeof pages[0])) return {range.bytes, false};
  pages.resize(static_cast<std::size_t>(got) / sizeof pages[0]);

  const std::size_t absent = first_run(pages);
  if (absent != 0) {
    const std::uint64_t after = std::min(range.end().value, (first + absent) * page_bytes());
    return anonymous_part({range.start, after - range.start.value});
  }
  std::size_t here = 0;  // up to the next long run of absent pages
  while (here < pages.size() && first_run(std::span(pages).subspan(here)) == 0) ++here;
  const std::uint64_t after = std::min(range.end().value, (first + here) * page_bytes());
  return {after - range.start.value, false};
}

// The part of an absent range that is private anonymous memory, if it begins with such memory,
// otherwise the part before the next such memory.
UntouchedMemory::Part UntouchedMemory::anonymous_part(Range range) const {
  const std::lock_guard lock(mutex_);
  update();
  const auto next =
      std::partition_point(anonymous_.begin(), anonymous_.end(),
                           [&](const Range& anonymous) { return anonymous.end() <= range.start; });
  if (next == anonymous_.end() || range.end() <= next->start) return {range.bytes, false};
  if (range.start < next->start) return {next->start - range.start, false};
  return {std::min(range.end(), next->end()) - range.start, true};
}

void UntouchedMemory::update() const {
  const auto now = std::chrono::steady_clock::now();
  if (updated_ && now - *updated_ < kOldest) return;
  updated_ = now;
  anonymous_.clear();
  if (lseek(maps_.get(), 0, SEEK_SET) != 0) return;
  const auto text = read_all(maps_, kLongestText);
  const auto map = text ? parse_maps(*text) : Result<MemoryMap>(text.error());
  if (!map) return;
  for (const Mapping& mapping : map->mappings()) {
    if (!has_zeros(mapping)) continue;
    if (!anonymous_.empty() && anonymous_.back().end() == mapping.range.start) {
      anonymous_.back().bytes += mapping.range.bytes;
    } else {
      anonymous_.push_back(mapping.range);
    }
  }
}

}  // namespace heapattach
