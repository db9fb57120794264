#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "symbols/boehm/roots.h"

// Where each thread's record is, and what it says. In 8.2.2 (pthread_support.h):
//
//   next · id · stop_info (a count, sometimes another, the stack pointer when last stopped) · flags
//   · stack_end · altstack, its size · stack, its size · traced_stack_sect · status · free lists:
//   three arrays of 25 words (pointer-free, normal, uncollectable), then one more
//
// Only this is relied on: the id is among the first words; stack_end is the highest address in the
// words before the free lists that lies in the stack the thread is on; and word g of a free-list
// array is a small count or leads to an object of g granules (one granule for g = 0). Other words
// that lead to objects do not fit an array, because 24 neighbours would have to fit as well.

namespace heapattach::boehm {
namespace {

constexpr std::size_t kIdWithin = 6;          // words from a record's start
constexpr std::size_t kStackEndWithin = 24;   // likewise
constexpr std::size_t kRecordWords = 192;     // as far as free lists are looked for
constexpr std::size_t kListWords = 25;        // GC_TINY_FREELISTS
constexpr std::uint64_t kLargestCount = 256;  // DIRECT_GRANULES, of an array's word that is no list
constexpr std::size_t kMostRecords = 100'000;

using Words = std::vector<std::uint64_t>;

Words load(std::span<const std::byte> bytes, std::size_t most) {
  Words words(std::min(bytes.size() / 8, most));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 8);
  return words;
}

// Whether `word`, as number g of a free-list array, leads to a list of objects of that size.
bool is_list_head(const Heap& heap, std::uint64_t word, std::size_t g) {
  const auto ref = heap.object_at(word);
  return ref && heap.blocks()[ref->block].object_bytes == std::max<std::size_t>(g, 1) * 16;
}

bool is_list_array(const Heap& heap, std::span<const std::uint64_t> words) {
  for (std::size_t g = 0; g < words.size(); ++g) {
    if (words[g] > kLargestCount && !is_list_head(heap, words[g], g)) return false;
  }
  return true;
}

std::vector<Range> find_list_heads(const Heap& heap, RemoteAddr at, const Words& words) {
  std::vector<Range> heads;
  for (std::size_t i = kIdWithin; i + kListWords <= words.size();) {
    const auto array = std::span(words).subspan(i, kListWords);
    const bool has_head = std::any_of(array.begin(), array.end(),
                                      [](std::uint64_t word) { return word > kLargestCount; });
    if (!has_head || !is_list_array(heap, array)) {
      ++i;
      continue;
    }
    for (std::size_t g = 0; g < kListWords; ++g) {
      if (array[g] > kLargestCount) heads.push_back({at + (i + g) * 8, 8});
    }
    i += kListWords;
  }
  return heads;
}

class RecordFinder {
 public:
  RecordFinder(const Heap& heap,
               const Capture& capture,
               std::span<const FrozenThread> threads,
               const MemoryMap& map)
      : heap_(heap), capture_(capture), threads_(threads), map_(map) {}

  std::vector<ThreadRecord> find(std::span<const Range> collector_data) {
    for (const Range& range : collector_data) {
      const auto bytes = capture_.bytes_from(range.start);
      const Words words = load(bytes, range.bytes / 8);
      for (std::size_t i = 0; i < words.size(); ++i) {
        // The first thread's record is a variable of the collector: a link, and then the id.
        if (const FrozenThread* thread = thread_of(words[i]); thread != nullptr && i > 0) {
          add(*thread, range.start + (i - 1) * 8, 1,
              load(bytes.subspan((i - 1) * 8), kRecordWords));
        }
        if (const auto ref = heap_.object_at(words[i])) follow(*ref);
      }
    }
    return std::move(records_);
  }

 private:
  // Looks at an object, and along the links in first words as long as they lead to objects of the
  // same size: records with one hash are chained.
  void follow(ObjectRef ref) {
    while (seen_.size() < kMostRecords && seen_.insert(heap_.number(ref)).second) {
      const Words words = load(heap_.contents(ref), kRecordWords);
      for (std::size_t i = 1; i < std::min(words.size(), kIdWithin); ++i) {
        const FrozenThread* thread = thread_of(words[i]);
        if (thread != nullptr) add(*thread, heap_.address(ref), i, words);
      }
      if (words.empty()) return;
      const auto next = heap_.object_at(words[0]);
      if (!next ||
          heap_.blocks()[next->block].object_bytes != heap_.blocks()[ref.block].object_bytes) {
        return;
      }
      ref = *next;
    }
  }

  [[nodiscard]] const FrozenThread* thread_of(std::uint64_t word) const {
    if (word == 0) return nullptr;
    const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const FrozenThread& t) {
      return t.registers && t.registers->thread_pointer.value == word;
    });
    return found == threads_.end() ? nullptr : &*found;
  }

  // A record holds more than the id: the collector keeps the id elsewhere too. One with a stack end
  // or with free lists is preferred.
  void add(const FrozenThread& thread, RemoteAddr at, std::size_t id_at, const Words& words) {
    ThreadRecord record{.thread = thread.tid, .at = at};
    const RemoteAddr pointer = thread.registers->stack_pointer;
    if (const Mapping* stack = map_.find(pointer)) {
      for (std::size_t i = id_at + 1; i < std::min(words.size(), kStackEndWithin); ++i) {
        const RemoteAddr end{words[i]};
        const bool is_above = end > pointer && end <= stack->range.end() && end.value % 8 == 0;
        if (is_above && end > record.stack_end.value_or(pointer)) record.stack_end = end;
      }
    }
    record.list_heads = find_list_heads(heap_, at, words);
    const auto same = std::find_if(records_.begin(), records_.end(),
                                   [&](const ThreadRecord& r) { return r.thread == thread.tid; });
    if (same == records_.end()) {
      records_.push_back(std::move(record));
    } else if (!same->stack_end && same->list_heads.empty()) {
      *same = std::move(record);
    }
  }

  const Heap& heap_;
  const Capture& capture_;
  std::span<const FrozenThread> threads_;
  const MemoryMap& map_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<ThreadRecord> records_;
};

}  // namespace

std::vector<ThreadRecord> find_thread_records(const Heap& heap,
                                              const Capture& capture,
                                              std::span<const Range> collector_data,
                                              std::span<const FrozenThread> threads,
                                              const MemoryMap& map) {
  return RecordFinder(heap, capture, threads, map).find(collector_data);
}

}  // namespace heapattach::boehm
