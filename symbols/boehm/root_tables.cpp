#include "symbols/boehm/root_tables.h"

#include <algorithm>
#include <cstdint>

#include "attach/base/word.h"

// mark_rts.c and gc_priv.h, the same in 7.2 to 8.3:
//
//   struct roots { start, end, next in the chain of its hash, temporary (an int) };
//   struct roots GC_static_roots[2048]     only the first n_root_sets count, what follows is stale
//   struct roots* GC_root_index[64]        chains of those that count
//   struct { start, end } GC_excl_table[]  sorted and disjoint; then zeros
//
// All three are members of GC_arrays, whose other members differ from build to build. n_root_sets
// is not needed: the chains hold exactly the entries that count.

namespace heapattach::boehm {
namespace {

constexpr std::size_t kIndexEntries = 64;
constexpr std::size_t kMostAreas = 8192;
constexpr std::uint64_t kBytesBefore = 2U << 20;  // before the block index, where the tables may be
constexpr std::uint64_t kBytesAfter = 64U << 10;

std::size_t hash_of(std::uint64_t start) {
  std::uint64_t hash = start;
  for (const unsigned shift : {48U, 24U, 12U, 6U}) hash ^= hash >> shift;
  return hash % kIndexEntries;
}

// The words of the collector's data around its block index.
class Tables {
 public:
  Tables(const Range& part, RemoteAddr top_index, const MemoryReader& memory)
      : top_index_(top_index) {
    const RemoteAddr from{
        std::max(part.start.value, top_index.value - std::min(top_index.value, kBytesBefore))};
    const RemoteAddr to{std::min(part.end().value, (top_index + kBytesAfter).value)};
    start_ = RemoteAddr{(from.value + kWordBytes - 1) / kWordBytes * kWordBytes};
    if (to <= start_) return;
    words_.resize((to - start_) / kWordBytes);
    if (!memory.read(start_, std::as_writable_bytes(std::span(words_)))) words_.clear();
  }

  // GC_arrays is the smallest range that contains both the block index and itself: the others cover
  // the whole module's data.
  [[nodiscard]] std::vector<Range> exclusions() const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      const bool is_around = words_[i] <= address(i).value &&
                             address(i + 1).value < words_[i + 1] &&
                             words_[i] <= top_index_.value && top_index_.value < words_[i + 1];
      if (is_around && is_range(i) && (!best || bytes(i) < bytes(*best))) best = i;
    }
    std::vector<Range> found;
    if (!best) return found;
    std::size_t first = *best;
    while (first >= 2 && is_range(first - 2) && words_[first - 1] <= words_[first]) first -= 2;
    for (std::size_t i = first; i + 1 < words_.size() && is_range(i); i += 2) {
      if (i > first && words_[i] < words_[i - 1]) break;
      found.push_back({{words_[i]}, bytes(i)});
    }
    return found;
  }

  // The areas of the index that has the most; none if there is no index.
  [[nodiscard]] std::vector<RootArea> areas() const {
    std::vector<RootArea> most;
    std::optional<std::size_t> tried;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto record = record_at(words_[i]);
      if (!record) continue;
      const std::size_t slot = hash_of(words_[*record]);
      if (i < slot || i - slot == tried) continue;
      tried = i - slot;
      std::vector<RootArea> found = areas_of_index(*tried);
      if (found.size() > most.size()) most = std::move(found);
    }
    std::sort(most.begin(), most.end(),
              [](const RootArea& a, const RootArea& b) { return a.range < b.range; });
    return most;
  }

 private:
  [[nodiscard]] RemoteAddr address(std::size_t i) const { return start_ + i * kWordBytes; }
  [[nodiscard]] std::uint64_t bytes(std::size_t i) const { return words_[i + 1] - words_[i]; }
  [[nodiscard]] bool is_range(std::size_t i) const {
    return words_[i] != 0 && words_[i] < words_[i + 1] && words_[i] % kWordBytes == 0 &&
           words_[i + 1] % kWordBytes == 0;
  }

  // The entry of GC_static_roots that `pointer` points to.
  [[nodiscard]] std::optional<std::size_t> record_at(std::uint64_t pointer) const {
    if (pointer < start_.value || pointer % kWordBytes != 0) return std::nullopt;
    const std::size_t at = (pointer - start_.value) / kWordBytes;
    if (at + 4 > words_.size() || !is_range(at)) return std::nullopt;
    // The bytes after the int are padding.
    return (words_[at + 3] & 0xffffffff) <= 1 ? std::optional(at) : std::nullopt;
  }

  // Empty if any part does not fit.
  [[nodiscard]] std::vector<RootArea> areas_of_index(std::size_t index) const {
    std::vector<RootArea> found;
    if (index + kIndexEntries > words_.size()) return found;
    std::optional<std::size_t> first;
    for (std::size_t slot = 0; slot < kIndexEntries; ++slot) {
      for (std::uint64_t next = words_[index + slot]; next != 0;) {
        const auto record = record_at(next);
        const bool fits = record && hash_of(words_[*record]) == slot &&
                          (*record - first.value_or(*record)) % 4 == 0;
        if (!fits || found.size() == kMostAreas) return {};
        first = record;
        found.push_back(
            {{{words_[*record]}, bytes(*record)}, (words_[*record + 3] & 0xffffffff) == 1});
        next = words_[*record + 2];
      }
    }
    return found;
  }

  RemoteAddr top_index_;
  RemoteAddr start_;
  std::vector<std::uint64_t> words_;
};

template <class T>
std::optional<T> value_of(const MemoryReader& memory, std::optional<RemoteAddr> at) {
  const auto value = at ? memory.read_as<T>(*at) : Result<T>(Error{ErrorKind::Fault, ""});
  return value ? std::optional<T>(*value) : std::nullopt;
}

}  // namespace

RootTables read_root_tables(const Collector& collector,
                            std::span<const Range> collector_data,
                            const MemoryReader& memory) {
  RootTables tables;
  for (const Range& part : collector_data) {
    if (!part.contains(collector.layout.top_index)) continue;
    const Tables found(part, collector.layout.top_index, memory);
    tables.excluded = found.exclusions();
    tables.areas = found.areas();
  }
  tables.has_index = !tables.areas.empty();
  const auto covers = [&](const Range& part) {
    return std::any_of(tables.areas.begin(), tables.areas.end(), [&](const RootArea& area) {
      return area.is_temporary && area.range.start < part.end() && part.start < area.range.end();
    });
  };
  const bool has_temporary = covers({{0}, ~std::uint64_t{0}});
  const auto collections = value_of<std::uint64_t>(memory, collector.collections);
  const bool has_collected = collections.value_or(0) != 0;
  // A collection has registered all there is, or must not register anything. Without a sign of a
  // collection: the collector begins with one unless it is asked not to.
  if (collector.no_dls) {
    tables.registers_modules = value_of<std::uint32_t>(memory, collector.no_dls).value_or(0) == 0;
  } else if (tables.has_index && (has_collected || !collections)) {
    tables.registers_modules = has_temporary;
  }
  // At least the collector's own module existed at the last collection.
  if (collector.roots_filter) {
    const auto filter = value_of<std::uint64_t>(memory, collector.roots_filter);
    tables.filters_modules = filter.value_or(0) != 0;
  } else {
    tables.filters_modules =
        has_temporary && std::none_of(collector_data.begin(), collector_data.end(), covers);
  }
  if (!tables.has_index && has_collected && tables.registers_modules) {
    tables.problem = "the collector's table of registered roots was not found";
  }
  return tables;
}

}  // namespace heapattach::boehm
