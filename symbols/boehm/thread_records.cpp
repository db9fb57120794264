#include "symbols/boehm/thread_records.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include "symbols/boehm/arch/thread_ids.h"
#include "symbols/boehm/thread_forms.h"

// Finds each thread's record and reads it. Its first words are described in thread_forms.cpp. Free
// lists follow: three or four arrays of 25 words (pointer-free, normal, uncollectable, other), and
// more. Word g of an array is a small count or points to an object of g granules (one granule for g
// = 0). Other words that point to objects do not fit an array, because 24 neighbours would have to
// fit as well. Before release 7 there are three arrays of 65 words.
//
// If no form fits, only this is relied on: the id is among the first words, and stack_end is the
// highest address in the words before the free lists that is in the stack the thread is on.

namespace heapattach::boehm {
namespace {

constexpr std::size_t kIdWithin = 6;         // words from a record's start
constexpr std::size_t kStackEndWithin = 24;  // likewise, if the form is unknown
constexpr std::size_t kRecordWords = 256;    // how far to search for free lists
constexpr std::size_t kListWords = 25;       // GC_TINY_FREELISTS
constexpr std::size_t kOldListWords = 65;    // NFREELISTS, before release 7
constexpr std::uint64_t kLargestCount =
    256;  // DIRECT_GRANULES, in an array's word that is not a list
constexpr std::uint64_t kOldLargestCount = 4095;  // before release 7; larger words are addresses
constexpr std::size_t kMostRecords = 100'000;

using Words = std::vector<std::uint64_t>;

Words load(std::span<const std::byte> bytes, std::size_t most) {
  Words words(std::min(bytes.size() / 8, most));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 8);
  return words;
}

// Whether `word`, as number g of a free-list array, points to a list of objects of that size.
bool is_list_head(const heap::Heap& heap, std::uint64_t word, std::size_t g) {
  const auto ref = heap.object_at(word);
  return ref && heap.blocks()[ref->block].object_bytes ==
                    std::max<std::size_t>(g, 1) * heap.shape().granule_bytes;
}

// The form of a thread's arrays of free lists.
struct ListForm {
  std::size_t words = kListWords;
  std::uint64_t largest_count = kLargestCount;
};

ListForm list_form(const heap::Heap& heap) {
  return heap.shape().granule_bytes == 8 ? ListForm{kOldListWords, kOldLargestCount} : ListForm{};
}

bool is_list_array(const heap::Heap& heap, std::span<const std::uint64_t> words) {
  for (std::size_t g = 0; g < words.size(); ++g) {
    if (words[g] > list_form(heap).largest_count && !is_list_head(heap, words[g], g)) return false;
  }
  return true;
}

std::vector<Range> find_list_heads(const heap::Heap& heap, RemoteAddr at, const Words& words) {
  const ListForm form = list_form(heap);
  std::vector<Range> heads;
  for (std::size_t i = kIdWithin; i + form.words <= words.size();) {
    const auto array = std::span(words).subspan(i, form.words);
    const bool has_head = std::any_of(
        array.begin(), array.end(), [&](std::uint64_t word) { return word > form.largest_count; });
    if (!has_head || !is_list_array(heap, array)) {
      ++i;
      continue;
    }
    for (std::size_t g = 0; g < form.words; ++g) {
      if (array[g] > form.largest_count) heads.push_back({at + (i + g) * 8, 8});
    }
    i += form.words;
  }
  return heads;
}

// A word that contains a thread's id, with a possible record around it.
struct Candidate {
  const FrozenThread* thread = nullptr;
  RemoteAddr id_at;
  std::optional<RemoteAddr> object;  // that contains it; otherwise it is in the collector's data
};

class CandidateFinder {
 public:
  CandidateFinder(const heap::Heap& heap,
                  const Capture& capture,
                  std::span<const FrozenThread> threads,
                  std::uint16_t machine)
      : heap_(heap),
        capture_(capture),
        threads_(threads),
        id_below_(id_below_pointer(machine, capture, threads)) {}

  std::vector<Candidate> find(std::span<const Range> collector_data) {
    for (const Range& range : collector_data) {
      const Words words = load(capture_.bytes_from(range.start), range.bytes / 8);
      for (std::size_t i = 0; i < words.size(); ++i) {
        // The first thread's record is a variable of the collector: a link, and then the id.
        add(words[i], range.start + i * 8, std::nullopt);
        if (const auto ref = heap_.object_at(words[i])) follow(*ref);
      }
    }
    return std::move(found_);
  }

 private:
  // Examines an object, and follows the links in first words while they point to objects of the
  // same size: records with one hash are chained.
  void follow(heap::ObjectRef ref) {
    while (seen_.size() < kMostRecords && seen_.insert(heap_.number(ref)).second) {
      const Words words = load(heap_.contents(ref), kIdWithin);
      const RemoteAddr at = heap_.address(ref);
      for (std::size_t i = 1; i < words.size(); ++i) add(words[i], at + i * 8, at);
      if (words.empty()) return;
      const auto next = heap_.object_at(words[0]);
      if (!next ||
          heap_.blocks()[next->block].object_bytes != heap_.blocks()[ref.block].object_bytes) {
        return;
      }
      ref = *next;
    }
  }

  void add(std::uint64_t word, RemoteAddr at, std::optional<RemoteAddr> object) {
    if (word == 0) return;
    const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const FrozenThread& t) {
      return t.registers && t.registers->thread_pointer.value - id_below_ == word;
    });
    if (found != threads_.end()) found_.push_back({&*found, at, object});
  }

  const heap::Heap& heap_;
  const Capture& capture_;
  std::span<const FrozenThread> threads_;
  std::uint64_t id_below_;  // the thread pointer
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Candidate> found_;
};

class RecordFinder {
 public:
  RecordFinder(const heap::Heap& heap,
               const Capture& capture,
               const MemoryMap& map,
               std::vector<Candidate> candidates)
      : heap_(heap), capture_(capture), map_(map), candidates_(std::move(candidates)) {}

  std::vector<ThreadRecord> find() {
    std::vector<ThreadRecord> best;
    const bool is_before_7 = heap_.shape().granule_bytes == 8;
    for (const RecordForm& form : record_forms()) {
      if (form.is_before_7 != is_before_7) continue;
      std::vector<ThreadRecord> records = of_form(form);
      if (records.size() > best.size()) best = std::move(records);
    }
    if (best.empty()) add_of_no_form(candidates_, best);
    return best;
  }

 private:
  std::vector<ThreadRecord> of_form(const RecordForm& form) {
    std::vector<ThreadRecord> records;
    std::vector<Candidate> unclear;
    for (const Candidate& candidate : candidates_) {
      const RemoteAddr at = candidate.id_at - form.id * 8;
      if (candidate.object && candidate.object != at) continue;
      bool is_finished = false;
      auto record = read_record(form, at, capture_, map_, is_finished);
      if (!record) {
        if (candidate.object) unclear.push_back(candidate);
        continue;
      }
      if (is_finished) finished_.insert(candidate.id_at.value);
      if (is_finished) continue;
      record->thread = candidate.thread->tid;
      record->list_heads = find_list_heads(heap_, at, words_at(at));
      add(std::move(*record), records);
    }
    // One unclear field must not lose a thread that the collector knows.
    if (!records.empty()) add_of_no_form(unclear, records);
    return records;
  }

  void add_of_no_form(std::span<const Candidate> candidates, std::vector<ThreadRecord>& records) {
    for (const Candidate& candidate : candidates) {
      if (finished_.count(candidate.id_at.value) != 0) continue;
      const RemoteAddr at = candidate.object.value_or(candidate.id_at - 8);
      const Words words = words_at(at);
      ThreadRecord record{.thread = candidate.thread->tid, .at = at};
      record.stack_end = likely_end(*candidate.thread, words, (candidate.id_at - at) / 8 + 1);
      record.list_heads = find_list_heads(heap_, at, words);
      add(std::move(record), records);
    }
  }

  [[nodiscard]] Words words_at(RemoteAddr at) const {
    const auto ref = heap_.object_at(at.value);
    return load(ref ? heap_.contents(*ref) : capture_.bytes_from(at), kRecordWords);
  }

  [[nodiscard]] std::optional<RemoteAddr> likely_end(const FrozenThread& thread,
                                                     const Words& words,
                                                     std::size_t first) const {
    const RemoteAddr pointer = thread.registers->stack_pointer;
    std::optional<RemoteAddr> likely;
    const Mapping* stack = map_.find(pointer);
    if (stack == nullptr) return likely;
    for (std::size_t i = first; i < std::min(words.size(), kStackEndWithin); ++i) {
      const RemoteAddr end{words[i]};
      const bool is_above = end > pointer && end <= stack->range.end() && end.value % 8 == 0;
      if (is_above && end > likely.value_or(pointer)) likely = end;
    }
    return likely;
  }

  // A record is more than the id, which the collector keeps elsewhere too. Prefers one with a stack
  // end or with free lists.
  static void add(ThreadRecord record, std::vector<ThreadRecord>& records) {
    const auto same = std::find_if(records.begin(), records.end(), [&](const ThreadRecord& r) {
      return r.thread == record.thread;
    });
    if (same == records.end()) {
      records.push_back(std::move(record));
    } else if (!same->stack_end && same->list_heads.empty()) {
      *same = std::move(record);
    }
  }

  const heap::Heap& heap_;
  const Capture& capture_;
  const MemoryMap& map_;
  std::vector<Candidate> candidates_;
  std::unordered_set<std::uint64_t> finished_;  // candidates in records of threads that have exited
};

}  // namespace

std::vector<ThreadRecord> find_thread_records(const heap::Heap& heap,
                                              const Capture& capture,
                                              std::span<const Range> collector_data,
                                              std::span<const FrozenThread> threads,
                                              const MemoryMap& map,
                                              std::uint16_t machine) {
  return RecordFinder(heap, capture, map,
                      CandidateFinder(heap, capture, threads, machine).find(collector_data))
      .find();
}

}  // namespace heapattach::boehm
