#include "symbols/heap/second_look.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "attach/base/team.h"
#include "symbols/heap/ranges.h"

namespace heapattach::heap {

namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::uint64_t kAddress = (std::uint64_t{1} << 48) - 1;
constexpr std::uint32_t kBlocksAtATime = 4096;

std::uint64_t load(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Searches memory for such references to allocations that are not alive.
class Search {
 public:
  explicit Search(const SeenAlive& seen) : seen_(seen), heap_(seen.heap) {
    lowest_ = ~std::uint64_t{0};
    std::uint64_t end = 0;
    for (std::uint32_t block = 0; block < heap_.blocks().size(); ++block) {
      if (!heap_.is_chunk(block) || seen_.is_live({block, 0})) continue;
      const Block& one = heap_.blocks()[block];
      lowest_ = std::min(lowest_, one.start.value - kWord);
      end = std::max(end, one.start.value + one.object_bytes + 1);
    }
    span_ = end - std::min(lowest_, end);
  }

  [[nodiscard]] bool has_dead() const { return span_ != 0; }

  // `bytes` begins at a multiple of 8.
  void search(std::span<const std::byte> bytes,
              RemoteAddr at,
              std::vector<OddReference>& found) const {
    if (bytes.size() < kWord) return;
    for (std::size_t i = 0; i + kWord <= bytes.size(); i += kWord) {
      const std::uint64_t word = load(bytes.data() + i);
      const std::uint64_t address = word & kAddress;
      if (may_be_dead(address)) test_word(address, word != address, at + i, found);
      if (i + 2 * kWord > bytes.size()) break;
      for (std::size_t k = 1; k < kWord; ++k) {
        const std::uint64_t shifted = load(bytes.data() + i + k);
        if (may_be_dead(shifted)) test_inside(shifted, "(unaligned reference)", at + i + k, found);
      }
    }
  }

 private:
  [[nodiscard]] bool may_be_dead(std::uint64_t word) const { return word - lowest_ < span_; }

  void add(std::uint32_t block,
           RemoteAddr at,
           std::string_view form,
           std::vector<OddReference>& found) const {
    if (!seen_.is_live({block, 0})) found.push_back({at, {block, 0}, form});
  }

  // The allocation that contains a word, or ends there.
  [[nodiscard]] std::uint32_t chunk_to(std::uint64_t word) const {
    const std::uint32_t block = heap_.block_of(word);
    return block != Heap::kNone && heap_.is_chunk(block) ? block : Heap::kNone;
  }

  bool test_inside(std::uint64_t word,
                   std::string_view form,
                   RemoteAddr at,
                   std::vector<OddReference>& found) const {
    const auto to = heap_.resolve(word);
    if (!to || !heap_.is_chunk(to->block)) return false;
    add(to->block, at, form, found);
    return true;
  }

  void test_word(std::uint64_t word,
                 bool is_tagged,
                 RemoteAddr at,
                 std::vector<OddReference>& found) const {
    if (test_inside(word, "(tagged reference)", at, found) || is_tagged) return;
    const std::uint32_t block = chunk_to(word);
    if (block != Heap::kNone) {
      const Block& one = heap_.blocks()[block];
      const std::uint64_t offset = word - one.start.value;
      if (offset < one.object_bytes) add(block, at, "(reference to its last word)", found);
      if (offset == one.object_bytes) add(block, at, "(reference to its end)", found);
    }
    const auto next = heap_.object_at(word + kWord);
    if (next && heap_.is_chunk(next->block)) {
      add(next->block, at, "(reference to the word before it)", found);
    }
  }

  const SeenAlive& seen_;
  const Heap& heap_;
  std::uint64_t lowest_ = 0;
  std::uint64_t span_ = 0;
};

// Rounds of searching: first everything that is alive, then what the last round has found.
class SecondLook {
 public:
  explicit SecondLook(const SeenAlive& seen) : seen_(seen), searched_(seen.heap) {}

  std::vector<OddReference> run() && {
    for (bool is_first = true;; is_first = false) {
      const Search search(seen_);
      if (!search.has_dead()) break;
      std::vector<OddReference> found = round(search, is_first);
      if (found.empty()) break;
      keep_first(found);
      std::vector<ObjectRef> objects;
      for (const OddReference& one : found) objects.push_back(one.to);
      seen_.trace(objects);
      all_.insert(all_.end(), found.begin(), found.end());
    }
    return std::move(all_);
  }

 private:
  // Keeps the reference at the lowest address of several to one object.
  static void keep_first(std::vector<OddReference>& found) {
    std::sort(found.begin(), found.end(), [](const OddReference& a, const OddReference& b) {
      return a.to != b.to ? a.to < b.to : a.at < b.at;
    });
    const auto is_same = [](const OddReference& a, const OddReference& b) { return a.to == b.to; };
    found.erase(std::unique(found.begin(), found.end(), is_same), found.end());
  }

  std::vector<OddReference> round(const Search& search, bool with_roots) {
    std::vector<OddReference> all;
    std::mutex mutex;
    std::atomic<std::uint32_t> next_block{0};
    std::atomic<std::size_t> next_root{with_roots ? 0 : seen_.roots.size()};
    const auto work = [&] {
      std::vector<OddReference> found;
      for (std::size_t i = next_root++; i < seen_.roots.size(); i = next_root++) {
        search.search(seen_.roots[i].bytes, seen_.roots[i].at, found);
      }
      const auto blocks = static_cast<std::uint32_t>(seen_.heap.blocks().size());
      for (std::uint32_t first = next_block.fetch_add(kBlocksAtATime); first < blocks;
           first = next_block.fetch_add(kBlocksAtATime)) {
        search_objects(search, first, std::min(first + kBlocksAtATime, blocks), found);
      }
      const std::lock_guard lock(mutex);
      all.insert(all.end(), found.begin(), found.end());
    };
    run_team(seen_.workers, {.begin = {}, .work = [&](unsigned) { work(); }, .abandon = {}});
    return all;
  }

  void search_objects(const Search& search,
                      std::uint32_t first,
                      std::uint32_t end,
                      std::vector<OddReference>& found) {
    for (std::uint32_t block = first; block < end; ++block) {
      for (std::uint32_t slot = 0; slot < seen_.heap.blocks()[block].objects; ++slot) {
        const ObjectRef ref{block, slot};
        if (!seen_.is_live(ref) || !searched_.insert_shared(seen_.heap.number(ref))) continue;
        search_object(search, ref, found);
      }
    }
  }

  // Without the words that the heap hides.
  void search_object(const Search& search, ObjectRef ref, std::vector<OddReference>& found) const {
    const auto contents = seen_.heap.contents(ref);
    const RemoteAddr address = seen_.heap.address(ref);
    for_each_outside({address, contents.size()}, seen_.heap.hidden(), [&](const Range& part) {
      const auto begin = static_cast<std::size_t>(part.start - address);
      search.search(contents.subspan(begin, part.bytes), part.start, found);
    });
  }

  const SeenAlive& seen_;
  ObjectSet searched_;
  std::vector<OddReference> all_;
};

}  // namespace

std::vector<OddReference> look_again(const SeenAlive& seen) {
  return SecondLook(seen).run();
}

}  // namespace heapattach::heap
