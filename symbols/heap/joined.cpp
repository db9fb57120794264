#include "symbols/heap/joined.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "attach/base/check.h"
#include "symbols/heap/by_hand.h"
#include "symbols/heap/ranges.h"
#include "symbols/heap/roots.h"
#include "symbols/heap/second_look.h"

namespace heapattach::heap {

namespace {

constexpr std::uint64_t kBlockBytes = Shape().block_bytes;

// The whole pages that a collector's block occupies.
Range memory_of(const Block& block) {
  const std::uint64_t bytes = std::max<std::uint64_t>(block.objects, 1) * block.object_bytes;
  const std::uint64_t before = block.start.value % kBlockBytes;
  return {RemoteAddr{block.start.value - before},
          (before + bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes};
}

ObjectSet renumbered(const ObjectSet& set,
                     const Heap& from,
                     const Heap& all,
                     std::span<const std::uint32_t> places) {
  ObjectSet numbered(all);
  for (std::uint32_t block = 0; block < from.blocks().size(); ++block) {
    const std::uint64_t number = from.number({block, 0});
    const std::uint64_t in_all = all.number({places[block], 0});
    for (std::uint32_t slot = 0; slot < from.blocks()[block].objects; ++slot) {
      if (set.contains(number + slot)) numbered.insert(in_all + slot);
    }
  }
  return numbered;
}

// Follows the references of the collector's objects into malloc's memory.
class SecondMark {
 public:
  SecondMark(const LiveSet& collector, const Heap& both, const ObjectSet& never, unsigned workers)
      : collector_(collector),
        both_(both),
        marker_(both, never, workers),
        entered_(never),
        chained_(both) {}

  // Marks a few blocks at a time, which needs little memory.
  void trace_live() {
    trace_objects([&](ObjectRef ref) {
      return collector_.live.contains(both_.number(ref)) || both_.rules()->may_use_dead(both_, ref);
    });
  }

  void trace(std::span<const RootWords> words) { marker_.trace(words, {}); }

  std::vector<OddReference> look_again(std::span<const RootWords> words, unsigned workers) {
    return heap::look_again({.heap = both_,
                             .roots = words,
                             .is_live = [this](ObjectRef ref) { return is_live(ref); },
                             .trace =
                                 [this](std::span<const ObjectRef> found) {
                                   marker_.trace({}, found);
                                   trace_found();
                                 },
                             .workers = workers});
  }

  // Follows the words of reachable objects of the collector that the marker skipped, because the
  // collector does not scan them.
  void trace_found() {
    trace_objects([this](ObjectRef ref) { return marker_.is_live(ref) && enter(ref); });
    // Skipped objects may reference further skipped ones. They are followed one by one, because a
    // chain of them would otherwise take a pass over all blocks per link.
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
  // By the rules of its own heap.
  [[nodiscard]] bool is_live(ObjectRef ref) const {
    const std::uint64_t number = both_.number(ref);
    return marker_.is_live(ref) || chained_.contains(number) || collector_.live.contains(number);
  }
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

  // Follows all words of the collector's objects for which `is_wanted` holds.
  template <class IsWanted>
  void trace_objects(const IsWanted& is_wanted) {
    constexpr std::size_t kAtOnce = std::size_t{1} << 16;
    std::vector<RootWords> words;
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
          words.push_back({bytes, Heap::From::Heap, both_.address(ref)});
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
  const Heap& both_;
  Marker marker_;
  ObjectSet entered_;  // objects of the collector whose words were followed
  ObjectSet chained_;  // found without the marker
};

RemoteAddr end_of(const Block& block) {
  const bool is_chunk = (block.flags & kChunk) != 0;
  return is_chunk ? block.start + block.object_bytes : memory_of(block).end();
}

// The heap whose next block has the lowest address. `placed` counts the blocks of each heap that
// have been placed.
std::size_t first_part(std::span<const Part> parts,
                       std::span<const std::vector<std::uint32_t>> placed) {
  std::size_t first = parts.size();
  RemoteAddr lowest{~std::uint64_t{0}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<Block>& blocks = parts[i].index->blocks;
    if (placed[i].size() == blocks.size() || blocks[placed[i].size()].start >= lowest) continue;
    first = i;
    lowest = blocks[placed[i].size()].start;
  }
  return first;
}

}  // namespace

Result<JoinedBlocks> join_blocks(std::span<const Part> parts) {
  HA_CHECK(parts.size() <= kMostJoined);
  JoinedBlocks all;
  all.places.resize(parts.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all.places[i].reserve(parts[i].index->blocks.size());
    count += parts[i].index->blocks.size();
    all.index.sizes.push_back(parts[i].sizes);
  }
  all.index.blocks.reserve(count);
  RemoteAddr done{0};
  std::size_t last = 0;  // the heap that has the block before `done`
  while (all.index.blocks.size() < count) {
    const std::size_t i = first_part(parts, all.places);
    Block block = parts[i].index->blocks[all.places[i].size()];
    if (block.start < done) {
      const auto [a, b] = std::minmax(i, last);
      const Kind& first = *parts[a].kind;
      const Kind& second = *parts[b].kind;
      return Error{ErrorKind::Malformed, fmt::format("{} heap and {} overlap at {}", whose(first),
                                                     whose(second), block.start)}
          .advise(
              fmt::format("--heap {} or --heap {}, which read one of them", first.key, second.key));
    }
    block.heap = static_cast<std::uint8_t>(i);
    all.places[i].push_back(static_cast<std::uint32_t>(all.index.blocks.size()));
    all.index.blocks.push_back(block);
    done = end_of(block);
    last = i;
  }
  return all;
}

std::vector<Range> memory_of(const BlockIndex& index) {
  std::vector<Range> ranges = index.free;
  ranges.reserve(ranges.size() + index.blocks.size());
  for (const Block& block : index.blocks) ranges.push_back(memory_of(block));
  return joined(std::move(ranges));
}

LiveSet renumber(LiveSet found,
                 const Heap& from,
                 const Heap& all,
                 std::span<const std::uint32_t> places) {
  found.live = renumbered(found.live, from, all, places);
  found.free = renumbered(found.free, from, all, places);
  const auto move = [&](ObjectRef& ref) { ref.block = places[ref.block]; };
  for (auto* refs : {&found.uncollectable, &found.tables, &found.finalizable}) {
    for (ObjectRef& ref : *refs) move(ref);
  }
  for (OwnObject& own : found.own) move(own.ref);
  return found;
}

LiveSet find_live_beside(const LiveSet& collector,
                         const Heap& all,
                         const Capture& capture,
                         std::vector<RootRange> roots,
                         std::span<const FrozenThread> threads,
                         unsigned workers) {
  ObjectSet never = collector.free;
  never.add(collector.live);
  SecondMark mark(collector, all, never, workers);
  RootsOfThreads of_threads = words_of(threads);
  std::vector<RootWords> words = root_words(roots, capture);
  words.insert(words.end(), of_threads.words.begin(), of_threads.words.end());
  mark.trace(words);
  mark.trace_live();
  mark.trace_found();
  std::vector<OddReference> odd = mark.look_again(words, workers);
  LiveSet found{std::move(mark).take_live(), collector.free, std::move(roots),
                std::move(of_threads.stopped)};
  found.problems = std::move(of_threads.problems);
  found.odd = std::move(odd);
  return found;
}

}  // namespace heapattach::heap
