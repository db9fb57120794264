#include "symbols/heap/roots.h"

#include <algorithm>

#include "attach/base/page.h"
#include "symbols/heap/ranges.h"

namespace heapattach::heap {
namespace {

// Calls visit(at, bytes) for each part of `range` that was copied, in order.
template <class Visit>
void for_each_piece(const Range& range, const Capture& capture, const Visit& visit) {
  for (RemoteAddr at = range.start; at < range.end();) {
    const auto bytes = capture.bytes_from(at).first(
        std::min<std::uint64_t>(capture.bytes_from(at).size(), range.end() - at));
    if (!bytes.empty()) visit(at, bytes);
    // Skips whole pages that were not copied, or the rest of one.
    at = bytes.empty() ? RemoteAddr{(at.value | (kLeastPageBytes - 1)) + 1} : at + bytes.size();
  }
}

}  // namespace

std::vector<Range> plan_copy(std::span<const RootRange> roots,
                             std::span<const Range> more,
                             std::span<const Range> heap,
                             const MemoryMap& map) {
  std::vector<Range> wanted(more.begin(), more.end());
  for (const RootRange& root : roots) wanted.push_back(root.range);
  std::sort(wanted.begin(), wanted.end());

  std::vector<Range> plan;
  RemoteAddr done{0};
  for (Range range : wanted) {
    if (range.bytes == 0 || range.end() <= done) continue;
    if (range.start < done) range = {done, range.end() - done};
    done = range.end();
    // Visits only the mappings that overlap the root, because there are two for each fiber.
    const auto& mappings = map.mappings();
    auto mapping = std::partition_point(mappings.begin(), mappings.end(), [&](const Mapping& m) {
      return m.range.end() <= range.start;
    });
    for (; mapping != mappings.end() && mapping->range.start < range.end(); ++mapping) {
      if (!mapping->readable) continue;
      const RemoteAddr start = std::max(range.start, mapping->range.start);
      const RemoteAddr end = std::min(range.end(), mapping->range.end());
      // Visits only the heap ranges that may overlap, because there are many.
      const auto first = std::partition_point(heap.begin(), heap.end(),
                                              [&](const Range& r) { return r.end() <= start; });
      const auto last =
          std::partition_point(first, heap.end(), [&](const Range& r) { return r.start < end; });
      subtract({start, end - start}, {first, last}, plan);
    }
  }
  return plan;
}

std::vector<RootWords> root_words(std::span<const RootRange> roots, const Capture& capture) {
  std::vector<RootWords> words;
  words.reserve(roots.size());
  for (const RootRange& root : roots) {
    const bool is_static = root.kind == RootKind::Global || root.kind == RootKind::Kept;
    const auto from = is_static ? Heap::From::Heap : Heap::From::Stack;
    for_each_piece(root.range, capture, [&](RemoteAddr at, std::span<const std::byte> bytes) {
      words.push_back({bytes, from, at, root.is_packed});
    });
  }
  return words;
}

}  // namespace heapattach::heap
