#include "symbols/boehm/check_live.h"

#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "symbols/boehm/churn.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/stale_words.h"
#include "symbols/heap/roots.h"

namespace heapattach::boehm {

namespace {

// The number of objects that are alive only in incremental mode: they ignore pointers past their
// first page, and nothing but such pointers on stacks references them (MarkingRules,
// finds_bases_from_stacks).
std::uint64_t count_held_past_first_page(heap::Heap& heap,
                                         const Capture& capture,
                                         const heap::LiveSet& found) {
  MarkingRules known = rules_of(heap);
  MarkingRules incremental = known;
  incremental.finds_bases_from_stacks = true;
  follow(heap, std::move(incremental));
  heap::ObjectSet held(heap);
  std::uint64_t count = 0;
  const auto look_at = [&](std::uint64_t word) {
    const auto ref = heap.resolve(word, heap::Heap::From::Stack);
    if (!ref) return;
    const std::uint64_t number = heap.number(*ref);
    const bool is_known = found.live.contains(number) || found.free.contains(number);
    if (!is_known && held.insert(number)) ++count;
  };
  for (const heap::RootWords& words : heap::root_words(found.ranges, capture)) {
    if (words.from != heap::Heap::From::Stack) continue;
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= words.bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, words.bytes.data() + i, sizeof word);
      look_at(word);
    }
  }
  for (const FrozenThread& thread : found.threads) {
    if (!thread.registers) continue;
    for (const std::uint64_t word : thread.registers->general) look_at(word);
  }
  follow(heap, std::move(known));
  return count;
}

std::string unless_explained(const StaleWords& stale) {
  if (stale.unread() == 0) return {};
  return fmt::format(", or unused parts of {} stacks, which there was no time to read, explain it",
                     stale.unread());
}

}  // namespace

void LiveCheck::run(heap::Heap& heap, unsigned workers, heap::LiveSet& found) const {
  check_stack_bases(heap, found);
  compare_with_marks(heap, workers, found);
}

// Without symbols it may be unknown how the collector scans stacks.
void LiveCheck::check_stack_bases(heap::Heap& heap, heap::LiveSet& found) const {
  const bool is_known = collector_.incremental.has_value() ||
                        heap.rules()->finds_bases_from_stacks || !heap.recognises_interior();
  const std::uint64_t count =
      is_known ? 0 : count_held_past_first_page(heap, copied_.capture, found);
  if (count == 0) return;
  found.problems.push_back(fmt::format(
      "{} large object{} may be missing: only words on stacks that point past the first "
      "page reference {}, and the collector's mode, which decides whether that counts, is "
      "unknown without its symbols",
      count, count == 1 ? "" : "s", count == 1 ? "it" : "them"));
}

// Compares the live set with the marks of the last collection, if nothing was allocated since. The
// live set is incomplete if it lacks more objects than the program can have dropped.
void LiveCheck::compare_with_marks(const heap::Heap& heap,
                                   unsigned workers,
                                   heap::LiveSet& found) const {
  constexpr std::uint64_t kFew = 100;
  constexpr std::uint64_t kShare = 10;
  const bool is_fresh = counters_.allocated == 0U && counters_.collections.value_or(0) > 0 &&
                        !counters_.collecting.value_or(true) &&
                        !counters_.incremental.value_or(true);
  if (!is_fresh) return;
  const MarkComparison compared = boehm::compare_with_marks(heap, found);
  if (compared.blocks == 0) return;
  const auto are_many = [&](std::uint64_t missing) {
    return missing > kFew && missing > compared.marked / kShare;
  };
  if (are_many(compared.missing)) {
    StaleWords stale(heap, found);
    stale.read(stale_stacks(copied_, roots_), copied_.outside, copied_.deadline);
    const heap::RootWords words = stale.words();
    const auto dropped = dropped_since_collection(heap, found, {&words, 1}, workers);
    std::uint64_t unexplained = count_unexplained(heap, found, dropped);
    if (are_many(unexplained)) unexplained = count_possible(heap, found, dropped, workers);
    if (are_many(unexplained)) {
      found.problems.push_back(
          fmt::format("{} of {} objects that the last collection marked in {} blocks were not "
                      "found, although nothing was allocated since: some roots were not seen{}",
                      unexplained, compared.marked, compared.blocks, unless_explained(stale)));
      return;
    }
  }
  copied_.note(
      fmt::format("{} of {} objects that the last collection marked in {} blocks were not "
                  "found; {} were found that it did not mark",
                  compared.missing, compared.marked, compared.blocks, compared.unmarked));
}

// Counts the objects that are missing for no known reason and that an unseen root may keep alive,
// because a word somewhere in the target's memory references them. The last references to the
// others are gone: the program has dropped them.
std::uint64_t LiveCheck::count_possible(const heap::Heap& heap,
                                        const heap::LiveSet& found,
                                        const heap::ObjectSet& dropped,
                                        unsigned workers) const {
  const auto parts = has_plain_pointers(heap)
                         ? unscanned_memory(copied_, collector_, collector_data_, heap.index())
                         : std::nullopt;
  StaleWords memory(heap, found);
  if (parts) memory.read(*parts, copied_.outside, copied_.deadline);
  const bool is_all = parts && memory.unread() == 0 && memory.unreadable() == 0;
  if (!is_all) return count_unexplained(heap, found, dropped);
  const heap::RootWords words = memory.words();
  const auto possible = reachable_from(heap, found, {&words, 1}, workers);
  return count_unexplained(heap, found, dropped, &possible);
}

}  // namespace heapattach::boehm
