#include "symbols/malloc/both.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "symbols/boehm/blocks.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/roots.h"
#include "symbols/malloc/live.h"

namespace heapattach::glibc {

namespace {

using heap::Block;
using heap::LiveSet;
using heap::ObjectRef;
using heap::ObjectSet;

// The whole pages that a block occupies.
Range memory_of(const Block& block) {
  const std::uint64_t bytes = std::max<std::uint64_t>(block.objects, 1) * block.object_bytes;
  return {block.start, (bytes + boehm::kUsualBlockBytes - 1) / boehm::kUsualBlockBytes *
                           boehm::kUsualBlockBytes};
}

ObjectSet renumbered(const ObjectSet& set,
                     const heap::Heap& from,
                     const heap::Heap& both,
                     const BothBlocks& blocks) {
  ObjectSet numbered(both);
  for (std::uint32_t block = 0; block < from.blocks().size(); ++block) {
    const std::uint64_t number = from.number({block, 0});
    const std::uint64_t in_both = both.number({blocks.of_collector[block], 0});
    for (std::uint32_t slot = 0; slot < from.blocks()[block].objects; ++slot) {
      if (set.contains(number + slot)) numbered.insert(in_both + slot);
    }
  }
  return numbered;
}

// Follows the references of the collector's objects into malloc's memory.
class SecondMark {
 public:
  SecondMark(const LiveSet& collector,
             const heap::Heap& both,
             const ObjectSet& never,
             unsigned workers)
      : collector_(collector),
        both_(both),
        marker_(both, never, workers),
        entered_(never),
        chained_(both) {}

  // Marks a few blocks at a time, which needs little memory.
  void trace_live() {
    trace_objects([&](ObjectRef ref) {
      return collector_.live.contains(both_.number(ref)) || may_disclaim(ref);
    });
  }

  void trace(std::span<const heap::RootWords> words) { marker_.trace(words, {}); }

  // Follows the words of reachable objects of the collector that the marker skipped, because the
  // collector does not scan them.
  void trace_found() {
    trace_objects([this](ObjectRef ref) { return marker_.is_live(ref) && enter(ref); });
    // Such objects may reference more of them. They are followed one by one, because a chain of
    // them would otherwise take a pass over all blocks per link.
    std::vector<ObjectRef> next;
    for_each_slot([&](ObjectRef ref) {
      if (marker_.is_live(ref) && enter(ref)) next.push_back(ref);
    });
    while (!next.empty()) {
      const ObjectRef ref = next.back();
      next.pop_back();
      for_each_word(ref, [&](std::uint64_t word) {
        const auto to = both_.resolve(word);
        if (to && is_found(*to)) next.push_back(*to);
      });
    }
  }

  ObjectSet take_live() && {
    ObjectSet live = std::move(marker_).take_live();
    live.add(chained_);
    return live;
  }

 private:
  bool enter(ObjectRef ref) { return entered_.insert(both_.number(ref)); }

  // Whether the words of `ref` still have to be followed.
  bool is_found(ObjectRef ref) {
    const std::uint64_t number = both_.number(ref);
    if (both_.is_chunk(ref.block)) return !marker_.is_live(ref) && chained_.insert(number);
    if (!entered_.insert(number)) return false;
    chained_.insert(number);
    return true;
  }

  template <class Visit>
  void for_each_word(ObjectRef ref, const Visit& visit) const {
    if (both_.is_chunk(ref.block)) {
      both_.for_each_word(ref, [&](std::uint64_t, std::uint64_t word) { visit(word); });
      return;
    }
    const auto bytes = both_.contents(ref);
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, sizeof word);
      visit(word);
    }
  }

  // Visits all objects of the collector.
  template <class Visit>
  void for_each_slot(const Visit& visit) const {
    for (std::uint32_t block = 0; block < both_.blocks().size(); ++block) {
      if (both_.is_chunk(block)) continue;
      for (std::uint32_t slot = 0; slot < both_.blocks()[block].objects; ++slot) {
        visit(ObjectRef{block, slot});
      }
    }
  }

  // Such an object differs from a free slot in the low bits of its first word.
  [[nodiscard]] bool may_disclaim(ObjectRef ref) const {
    constexpr unsigned kDisclaims = boehm::kHasDisclaim | boehm::kMarkUnconditionally;
    return (both_.blocks()[ref.block].flags & kDisclaims) != 0 &&
           (both_.word_at(ref, 0).value_or(0) & 3) != 0;
  }

  // Follows all words of the collector's objects for which `is_wanted` holds.
  template <class IsWanted>
  void trace_objects(const IsWanted& is_wanted) {
    constexpr std::size_t kAtOnce = std::size_t{1} << 16;
    std::vector<heap::RootWords> words;
    const auto blocks = static_cast<std::uint32_t>(both_.blocks().size());
    for (std::uint32_t block = 0; block < blocks; ++block) {
      if (both_.is_chunk(block)) continue;
      bool adjoins = false;
      for (std::uint32_t slot = 0; slot < both_.blocks()[block].objects; ++slot) {
        const ObjectRef ref{block, slot};
        const bool is_one = is_wanted(ref);
        const auto bytes = is_one ? both_.contents(ref) : std::span<const std::byte>{};
        if (adjoins && !bytes.empty()) {
          words.back().bytes = {words.back().bytes.data(),
                                words.back().bytes.size() + bytes.size()};
        } else if (!bytes.empty()) {
          words.push_back({bytes, heap::Heap::From::Heap, both_.address(ref)});
        }
        adjoins = !bytes.empty();
      }
      if (words.size() < kAtOnce) continue;
      marker_.trace(words, {});
      words.clear();
    }
    if (!words.empty()) marker_.trace(words, {});
  }

  const LiveSet& collector_;
  const heap::Heap& both_;
  heap::Marker marker_;
  ObjectSet entered_;  // objects of the collector whose words were followed
  ObjectSet chained_;  // found without the marker
};

}  // namespace

Result<BothBlocks> join_blocks(const heap::BlockIndex& collector, const heap::BlockIndex& malloc) {
  BothBlocks both;
  both.index.blocks.reserve(collector.blocks.size() + malloc.blocks.size());
  both.of_collector.reserve(collector.blocks.size());
  auto chunk = malloc.blocks.begin();
  RemoteAddr done{0};
  const auto add = [&](const Block& block, RemoteAddr end) -> Result<void> {
    if (block.start < done) {
      return Error{ErrorKind::Malformed,
                   fmt::format("the collector's heap and malloc's overlap at {}", block.start)}
          .advise("--heap gc or --heap malloc, which read one of them");
    }
    both.index.blocks.push_back(block);
    done = end;
    return {};
  };
  const auto add_chunks_before = [&](RemoteAddr end) -> Result<void> {
    for (; chunk != malloc.blocks.end() && chunk->start < end; ++chunk) {
      HA_TRY(add(*chunk, chunk->start + chunk->object_bytes));
    }
    return {};
  };
  for (const Block& block : collector.blocks) {
    HA_TRY(add_chunks_before(block.start));
    both.of_collector.push_back(static_cast<std::uint32_t>(both.index.blocks.size()));
    HA_TRY(add(block, memory_of(block).end()));
  }
  HA_TRY(add_chunks_before(RemoteAddr{~std::uint64_t{0}}));
  return both;
}

std::vector<Range> memory_of(const heap::BlockIndex& collector) {
  std::vector<Range> ranges = collector.free;
  ranges.reserve(ranges.size() + collector.blocks.size());
  for (const Block& block : collector.blocks) ranges.push_back(memory_of(block));
  return joined(std::move(ranges));
}

std::vector<Range> without(Range range, std::span<const Range> holes) {
  std::vector<Range> parts;
  RemoteAddr from = range.start;
  auto hole = std::partition_point(holes.begin(), holes.end(),
                                   [&](const Range& one) { return one.end() <= from; });
  for (; hole != holes.end() && hole->start < range.end(); ++hole) {
    if (hole->start > from) parts.push_back({from, hole->start - from});
    from = hole->end();
  }
  if (from < range.end()) parts.push_back({from, range.end() - from});
  return parts;
}

LiveSet renumber(LiveSet found,
                 const heap::Heap& from,
                 const heap::Heap& both,
                 const BothBlocks& blocks) {
  found.live = renumbered(found.live, from, both, blocks);
  found.free = renumbered(found.free, from, both, blocks);
  const auto move = [&](ObjectRef& ref) { ref.block = blocks.of_collector[ref.block]; };
  for (auto* refs : {&found.uncollectable, &found.tables, &found.finalizable}) {
    for (ObjectRef& ref : *refs) move(ref);
  }
  for (heap::OwnObject& own : found.own) move(own.ref);
  return found;
}

LiveSet find_live_beside(const LiveSet& collector,
                         const heap::Heap& both,
                         const Capture& capture,
                         std::vector<heap::RootRange> roots,
                         std::span<const FrozenThread> threads,
                         unsigned workers) {
  ObjectSet never = collector.free;
  never.add(collector.live);
  SecondMark mark(collector, both, never, workers);
  RootsOfThreads of_threads = words_of(threads);
  std::vector<heap::RootWords> words = heap::root_words(roots, capture);
  words.insert(words.end(), of_threads.words.begin(), of_threads.words.end());
  mark.trace(words);
  mark.trace_live();
  mark.trace_found();
  return {std::move(mark).take_live(),
          collector.free,
          std::move(roots),
          std::move(of_threads.stopped),
          {},
          {},
          {},
          {},
          std::move(of_threads.problems)};
}

}  // namespace heapattach::glibc
