#include "symbols/boehm/marking_rules.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <unordered_set>

#include "symbols/boehm/blocks.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/kinds.h"
#include "symbols/heap/mark.h"

namespace heapattach::boehm {

namespace {

constexpr unsigned kProcedureBits = 6;  // GC_LOG_MAX_MARK_PROCS
constexpr std::uint64_t kProcedures = 1U << kProcedureBits;
constexpr std::uint64_t kBitmapWords = 64;
constexpr std::uint64_t kLastWord = ~std::uint64_t{7} | kPerObject;  // of the object
constexpr std::size_t kMostOutside = 100'000;

std::uint64_t procedure_of(std::uint64_t descriptor) {
  return descriptor >> 2 & (kProcedures - 1);
}
std::uint64_t environment_of(std::uint64_t descriptor) {
  return descriptor >> (2 + kProcedureBits);
}

// The kinds made by GC_init_explicit_typing: one has a descriptor in each object's last word; the
// next one is for arrays, and its procedure has the next number.
void read_procedures(std::span<const ObjectKind> kinds, MarkingRules& rules) {
  for (std::size_t kind = kFirstKinds; kind + 1 < kinds.size(); ++kind) {
    if (kinds[kind].descriptor != kLastWord) continue;
    const std::uint64_t next = kinds[kind + 1].descriptor;
    if ((next & kDescriptorTags) != kByProcedure || environment_of(next) != 0) continue;
    if (procedure_of(next) == 0) continue;
    rules.array_procedure = procedure_of(next);
    rules.typed_procedure = procedure_of(next) - 1;
    return;
  }
}

// Whether the words that a descriptor with `bitmaps` names are all inside an object of `words`.
bool fits(std::span<const heap::ExtendedBitmap> bitmaps, std::uint64_t first, std::uint64_t words) {
  for (std::uint64_t i = first; i < bitmaps.size(); ++i) {
    const std::uint64_t before = (i - first) * kBitmapWords;
    if (before >= words) return false;
    if (bitmaps[i].goes_on) continue;
    const std::uint64_t left = words - before;
    return bitmaps[i].bits != 0 && (left >= kBitmapWords || bitmaps[i].bits >> left == 0);
  }
  return false;
}

// Finds the table of long bitmaps: an object without pointers, made for 100 entries or twice as
// many, and so on. A word of the collector's data references it, and every entry that typed objects
// use fits those objects.
class BitmapFinder {
 public:
  BitmapFinder(const heap::Heap& heap, const MarkingRules& rules) : heap_(heap) {
    for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
      if (may_hold_bitmaps(heap.blocks()[block])) {
        for (std::uint32_t slot = 0; slot < heap.blocks()[block].objects; ++slot) {
          tables_.insert(heap.address({block, slot}).value);
        }
      }
      if (heap.blocks()[block].descriptor + 8 - kPerObject == heap.blocks()[block].object_bytes) {
        note_uses(block, *rules.typed_procedure);
      }
    }
  }

  [[nodiscard]] std::vector<heap::ExtendedBitmap> find(const MemoryReader& captured,
                                                       std::span<const Range> data) const {
    if (tables_.empty()) return {};
    for (const Range& range : data) {
      std::vector<std::uint64_t> words(range.bytes / 8);
      if (!captured.read(range.start, std::as_writable_bytes(std::span(words)))) continue;
      for (const std::uint64_t word : words) {
        if (tables_.count(word) == 0) continue;
        auto table = read_table(word);
        const bool has_all = std::all_of(uses_.begin(), uses_.end(), [&](const Use& use) {
          return fits(table, use.first, use.words);
        });
        if (has_all && !table.empty()) return table;
      }
    }
    return {};
  }

 private:
  struct Use {
    std::uint64_t first;
    std::uint64_t words;
  };
  static constexpr std::size_t kMostUses = 10'000;

  void note_uses(std::uint32_t block, std::uint64_t procedure) {
    for (std::uint32_t slot = 0; slot < heap_.blocks()[block].objects; ++slot) {
      const std::uint64_t bytes = heap_.blocks()[block].object_bytes;
      const std::uint64_t descriptor = heap_.word_at({block, slot}, bytes - 8).value_or(0);
      if ((descriptor & kDescriptorTags) != kByProcedure) continue;
      if (procedure_of(descriptor) != procedure || uses_.size() == kMostUses) continue;
      uses_.push_back({environment_of(descriptor), bytes / 8});
    }
  }

  [[nodiscard]] std::vector<heap::ExtendedBitmap> read_table(std::uint64_t at) const {
    const auto ref = heap_.object_at(at);
    std::vector<heap::ExtendedBitmap> table;
    if (!ref) return table;
    const auto bytes = heap_.contents(*ref);
    for (std::size_t i = 0; i + 16 <= bytes.size(); i += 16) {
      std::uint64_t bits = 0;
      std::uint32_t goes_on = 0;
      std::memcpy(&bits, bytes.data() + i, sizeof bits);
      std::memcpy(&goes_on, bytes.data() + i + 8, sizeof goes_on);
      table.push_back({bits, goes_on != 0});
    }
    return table;
  }

  const heap::Heap& heap_;
  std::unordered_set<std::uint64_t> tables_;  // addresses of possible tables
  std::vector<Use> uses_;
};

// The descriptors that objects reference by their first words and that were not captured.
std::vector<std::pair<RemoteAddr, std::uint64_t>> read_outside(const heap::Heap& heap,
                                                               const MemoryReader& memory) {
  std::unordered_set<std::uint64_t> wanted;
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const std::uint64_t descriptor = heap.blocks()[block].descriptor;
    const bool is_indirect =
        (descriptor & kDescriptorTags) == kPerObject && static_cast<std::int64_t>(descriptor) < 0;
    if (!is_indirect) continue;
    std::uint64_t last = 0;
    for (std::uint32_t slot = 0; slot < heap.blocks()[block].objects; ++slot) {
      const std::uint64_t first = heap.word_at({block, slot}, 0).value_or(0);
      if (first == 0 || first == last || wanted.size() == kMostOutside) continue;
      last = first;
      const RemoteAddr at{first - (descriptor + kIndirectBias - kPerObject)};
      if (!heap.captured_word(at)) wanted.insert(at.value);
    }
  }
  std::vector<std::pair<RemoteAddr, std::uint64_t>> found;
  for (const std::uint64_t at : wanted) {
    const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
    if (word) found.emplace_back(RemoteAddr{at}, *word);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// GC_push_all_stack takes words one by one if it may not put the stack itself on the mark stack:
// always in releases before 8, later if interior pointers do not count or in incremental mode.
bool finds_bases(const heap::Heap& heap, const Collector& collector, const MemoryReader& captured) {
  if (!heap.recognises_interior()) return true;
  unsigned major = 8;
  std::from_chars(collector.version.data(), collector.version.data() + collector.version.size(),
                  major);
  if (major < 8 || !collector.incremental) return major < 8;
  const auto mode = captured.read_as<std::uint8_t>(*collector.incremental);  // an int until 8.2
  return mode && *mode != 0;
}

// The object's own descriptor, which it references.
std::optional<std::uint64_t> per_object(const heap::Heap& heap,
                                        heap::ObjectRef ref,
                                        std::uint64_t descriptor,
                                        const MarkingRules& rules) {
  if (static_cast<std::int64_t>(descriptor) >= 0) return heap.word_at(ref, descriptor - kPerObject);
  const auto first = heap.word_at(ref, 0);
  // The first word points to a structure that holds the descriptor; 0 ends a free list.
  if (!first || *first == 0) return first;
  const RemoteAddr at{*first - (descriptor + kIndirectBias - kPerObject)};
  const auto word = heap.captured_word(at);
  return word ? word : rules.outside_word(at);
}

}  // namespace

std::optional<heap::WordPattern> MarkingRules::pattern_of(std::uint64_t descriptor) const {
  switch (descriptor & kDescriptorTags) {
    case kByLength: return heap::WordPattern{descriptor / 8, 0, {}};
    case kByBitmap:
      // Without any bit there is nothing to scan.
      if ((descriptor & ~kDescriptorTags) == 0) return heap::WordPattern{};
      return heap::WordPattern{kBitmapWords, descriptor & ~kDescriptorTags, {}};
    case kByProcedure: break;
    default: return std::nullopt;
  }
  if (procedure_of(descriptor) != typed_procedure) return std::nullopt;
  const std::uint64_t first = environment_of(descriptor);
  std::uint64_t end = first;
  while (end < bitmaps.size() && bitmaps[end].goes_on) ++end;
  if (end >= bitmaps.size()) return std::nullopt;
  const std::uint64_t count = end + 1 - first;
  return heap::WordPattern{count * kBitmapWords, 0, std::span(bitmaps).subspan(first, count)};
}

bool MarkingRules::is_array(std::uint64_t descriptor) const {
  return (descriptor & kDescriptorTags) == kByProcedure &&
         procedure_of(descriptor) == array_procedure;
}

std::optional<std::uint64_t> MarkingRules::outside_word(RemoteAddr at) const {
  const auto found = std::lower_bound(outside.begin(), outside.end(), at,
                                      [](const auto& one, RemoteAddr a) { return one.first < a; });
  if (found == outside.end() || found->first != at) return std::nullopt;
  return found->second;
}

// If the descriptor is unreadable, or is a procedure of the program, the whole object is scanned.
void MarkingRules::narrow(const heap::Heap& heap,
                          heap::ObjectRef ref,
                          heap::ScannedWords& words) const {
  const heap::Block& block = heap.blocks()[ref.block];
  std::optional<std::uint64_t> descriptor = block.descriptor;
  if ((*descriptor & kDescriptorTags) == kPerObject) {
    descriptor = per_object(heap, ref, *descriptor, *this);
  }
  const auto pattern = descriptor ? pattern_of(*descriptor) : std::nullopt;
  if (pattern) {
    words.pattern = *pattern;
    return;
  }
  words.scan_all();
  words.is_guess = true;
  if (!descriptor || !is_array(*descriptor)) return;
  const auto description = heap.word_at(ref, block.object_bytes - 8);
  if (!description) return;
  words.is_guess = *description != 0 && !follow_array(heap, *description, words);
  if (*description == 0) words.pattern = {};  // on a free list
}

// Such an object differs from a free slot in the low bits of its first word.
bool MarkingRules::may_use_dead(const heap::Heap& heap, heap::ObjectRef ref) const {
  constexpr unsigned kDisclaims = kHasDisclaim | kMarkUnconditionally;
  return (heap.blocks()[ref.block].flags & kDisclaims) != 0 &&
         (heap.word_at(ref, 0).value_or(0) & 3) != 0;
}

MarkingRules read_marking_rules(const heap::Heap& heap,
                                const Collector& collector,
                                std::span<const Range> collector_data,
                                const MemoryReader& captured,
                                const MemoryReader& outside) {
  MarkingRules rules;
  if (!heap.recognises_interior() && collector.displacements) {
    rules.displacements = read_displacements(*collector.displacements, collector.layout, captured);
  }
  rules.finds_bases_from_stacks = finds_bases(heap, collector, captured);
  if (collector.kinds) read_procedures(read_kinds(*collector.kinds, captured), rules);
  if (rules.typed_procedure) {
    rules.bitmaps = BitmapFinder(heap, rules).find(captured, collector_data);
  }
  rules.outside = read_outside(heap, outside);
  return rules;
}

bool may_hold_bitmaps(const heap::Block& block) {
  constexpr std::uint64_t kFirstBytes = 1600;
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  if (block.kind != heap::kAtomic) return false;
  for (std::uint64_t bytes = kFirstBytes; bytes <= kMostBytes; bytes *= 2) {
    if (block.object_bytes < bytes) return false;
    // Not every size exists for small objects.
    const std::uint64_t most = block.objects > 1 ? bytes + bytes / 2 : bytes + 16;
    if (block.object_bytes <= most) return true;
  }
  return false;
}

heap::MarkedConservatively count_guesses(const heap::Heap& heap, const heap::ObjectSet& live) {
  heap::MarkedConservatively count;
  for (std::uint32_t i = 0; i < heap.blocks().size(); ++i) {
    const heap::Block& block = heap.blocks()[i];
    const std::uint64_t tag = block.descriptor & kDescriptorTags;
    if (block.is_atomic() || (tag != kByProcedure && tag != kPerObject)) continue;
    heap::for_each_object(heap, live, i, i + 1, [&](heap::ObjectRef ref) {
      if (!heap.scanned_words(ref).is_guess) return;
      ++count.objects;
      count.bytes += block.object_bytes;
    });
  }
  return count;
}

}  // namespace heapattach::boehm
