#include "symbols/boehm/known_release.h"

#include <algorithm>
#include <span>
#include <vector>

#include "attach/base/word.h"

namespace heapattach::boehm {

namespace {

bool is_plausible(const KnownRelease& release, RemoteAddr arrays, const MemoryReader& memory) {
  const auto heap = memory.read_as<std::uint64_t>(arrays + release.heap_bytes);
  const auto free = memory.read_as<std::uint64_t>(arrays + release.large_free_bytes);
  const auto unmapped = memory.read_as<std::uint64_t>(arrays + release.unmapped_bytes);
  const auto state = memory.read_as<std::uint32_t>(arrays + release.mark_state);
  return heap && free && unmapped && state && *heap > 0 && *heap % 4096 == 0 && *free % 4096 == 0 &&
         *free <= *heap && *unmapped <= *free && *state < 16;
}

}  // namespace

std::optional<ArraysFound> find_arrays(const Layout& layout, const MemoryReader& memory) {
  const KnownRelease release;
  const RemoteAddr known = layout.top_index - release.top_index;
  const auto pointer = memory.read_as<std::uint64_t>(known + release.all_nils);
  if (pointer && RemoteAddr{*pointer} == layout.all_nils && is_plausible(release, known, memory)) {
    return ArraysFound{{known, release.bytes}, true};
  }
  // Other builds of the struct are about as large; the farthest such pointer is closest to its
  // beginning.
  constexpr std::uint64_t kMostBytesBefore = 0x40000;
  const RemoteAddr end = layout.top_index + (layout.top_mask + 1) * kWordBytes;
  std::vector<std::uint64_t> words(std::min(kMostBytesBefore, layout.top_index.value) / kWordBytes);
  const RemoteAddr start = layout.top_index - words.size() * kWordBytes;
  const Copy copy{start, std::as_writable_bytes(std::span(words))};
  if (!memory.copy_all(std::span(&copy, 1), {})) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), layout.all_nils.value);
  if (found == words.end()) return std::nullopt;
  const auto index = static_cast<std::uint64_t>(found - words.begin());
  const std::uint64_t first = std::max<std::uint64_t>(index, release.all_nils / kWordBytes);
  const RemoteAddr arrays = start + (first * kWordBytes - release.all_nils);
  return ArraysFound{{arrays, end - arrays}, false};
}

}  // namespace heapattach::boehm
