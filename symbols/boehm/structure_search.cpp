#include "symbols/boehm/structure_search.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "attach/base/word.h"
#include "symbols/boehm/check_layout.h"
#include "symbols/heap/heap_memory.h"

// The top index is an array of 2048 pointers in bss. Nearly all point to the shared empty bottom
// index, which is all zero. Each of the others points to a bottom index whose key ends in the bits
// that are its slot in the array. So every pointer in the data to something with a key at the right
// offset shows where the array would begin, and there all 2048 words must agree. Nothing else has
// that shape, and the headers must fit as well.
//
// The search covers only the default configuration for 64 bits: blocks of 4096 bytes, 1024 of them
// to a bottom index. No distribution is known to build another.

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kMostDataBytes = std::uint64_t{256} << 20;
constexpr int kLongestChain = 64;
constexpr std::size_t kMostInChange = 16;  // slots of the index, of 2048
constexpr std::uint64_t kBottomIndexBytes = 0x2020;

// A module's writable data as read.
struct Data {
  RemoteAddr start;
  std::vector<std::uint64_t> words;
};

std::vector<Data> read_data(const Module& module, const MemoryReader& memory) {
  std::vector<Data> all;
  for (const Segment& segment : module.segments()) {
    if (!segment.writable || segment.range.bytes > kMostDataBytes) continue;
    const std::uint64_t skip = (kWordBytes - segment.range.start.value % kWordBytes) % kWordBytes;
    if (segment.range.bytes < skip + kWordBytes) continue;
    Data data{segment.range.start + skip, {}};
    data.words.resize((segment.range.bytes - skip) / kWordBytes);
    const Copy copy{data.start, std::as_writable_bytes(std::span(data.words))};
    if (memory.copy_all(std::span(&copy, 1), {})) all.push_back(std::move(data));
  }
  return all;
}

// The memory in which heaps and the collector's own structures are.
class AnonymousMemory {
 public:
  explicit AnonymousMemory(const MemoryMap& map) {
    for (const Mapping& mapping : map.mappings()) {
      if (!mapping.is_anonymous() || !heap::may_hold_heap(mapping)) continue;
      if (!ranges_.empty() && ranges_.back().end() == mapping.range.start) {
        ranges_.back().bytes += mapping.range.bytes;
      } else {
        ranges_.push_back(mapping.range);
      }
    }
  }

  [[nodiscard]] bool contains(std::uint64_t address) const {
    const auto next =
        std::upper_bound(ranges_.begin(), ranges_.end(), RemoteAddr{address},
                         [](RemoteAddr at, const Range& range) { return at < range.start; });
    return next != ranges_.begin() && std::prev(next)->contains(RemoteAddr{address});
  }

  [[nodiscard]] bool overlaps(const Range& other) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
      return range.start < other.end() && other.start < range.end();
    });
  }

 private:
  std::vector<Range> ranges_;  // sorted
};

class Search {
 public:
  Search(const MemoryReader& memory, const MemoryMap& map)
      : memory_(memory), map_(map), anonymous_(map) {}

  Result<Layout> in(const Data& data) {
    tried_.clear();
    for (std::size_t i = 0; i < data.words.size(); ++i) {
      const std::uint64_t word = data.words[i];
      // A pointer that is repeated is the empty index, which has no key.
      if (word == 0 || word % kWordBytes != 0 || (i > 0 && word == data.words[i - 1])) continue;
      if (!anonymous_.contains(word)) continue;
      const auto key = key_of(word);
      if (!key || (*key & default_.top_mask) > i) continue;
      const std::size_t first = i - (*key & default_.top_mask);
      if (!tried_.insert(first).second) continue;
      auto layout = layout_at(data, first, word);
      if (layout || layout.error().kind == ErrorKind::Gone) return layout;
    }
    if (is_in_change_) return Error{ErrorKind::Malformed, "the block index is in change"};
    return Error{ErrorKind::Unsupported, "no block index"};
  }

 private:
  // The key of a bottom index, if there is one at `bottom` that covers existing memory.
  [[nodiscard]] std::optional<std::uint64_t> key_of(std::uint64_t bottom) const {
    const auto key = memory_.read_as<std::uint64_t>(RemoteAddr{bottom} + default_.bottom_key);
    if (!key || *key == 0 || *key >= kUsualAddressEnd >> default_.top_shift) return std::nullopt;
    const Range covered{RemoteAddr{*key << default_.top_shift},
                        std::uint64_t{1} << default_.top_shift};
    if (!anonymous_.overlaps(covered)) return std::nullopt;
    return *key;
  }

  // The empty bottom index, at the end of each hash chain.
  [[nodiscard]] std::optional<RemoteAddr> end_of_chain(std::uint64_t bottom) const {
    for (int i = 0; i < kLongestChain; ++i) {
      const auto next = memory_.read_as<std::uint64_t>(RemoteAddr{bottom} + default_.bottom_next);
      if (!next || !anonymous_.contains(*next)) return std::nullopt;
      if (is_empty(RemoteAddr{*next})) return RemoteAddr{*next};
      bottom = *next;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_empty(RemoteAddr bottom) const {
    std::vector<std::byte> bytes(kBottomIndexBytes);
    return memory_.read(bottom, bytes).has_value() &&
           std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  // Whether nearly all slots have what a slot of an index has. All have, unless the program was
  // about to change some, or has mapped memory since the map was read.
  static bool is_index(std::size_t wrong) { return wrong <= kMostInChange; }

  Result<Layout> layout_at(const Data& data, std::size_t first, std::uint64_t bottom) {
    const std::size_t count = default_.top_mask + 1;
    if (data.words.size() - first < count) {
      return Error{ErrorKind::Malformed, "the data ends before the index"};
    }
    const auto all_nils = end_of_chain(bottom);
    if (!all_nils) return Error{ErrorKind::Malformed, "the chain has no end"};
    std::size_t wrong = 0;
    for (std::size_t slot = 0; slot < count && is_index(wrong); ++slot) {
      const std::uint64_t word = data.words[first + slot];
      if (RemoteAddr{word} == *all_nils) continue;
      const auto key = anonymous_.contains(word) ? key_of(word) : std::nullopt;
      if (!key || (*key & default_.top_mask) != slot) ++wrong;
    }
    is_in_change_ = is_in_change_ || is_index(wrong);
    if (wrong != 0) return Error{ErrorKind::Malformed, "a slot holds no index of its own"};
    Layout layout;
    layout.source = Layout::Source::Structure;
    layout.top_index = data.start + first * kWordBytes;
    layout.all_nils = *all_nils;
    auto found = with_header_fields(layout);
    if (found || found.error().kind == ErrorKind::Gone) return found;
    return with_word_headers(layout, data);
  }

  // The fields of a header follow each other in all releases: block, kind, flags, size, descriptor.
  Result<Layout> with_header_fields(Layout layout) const {
    layout.header_block = HA_TRY(find_block_field(layout, memory_));
    layout.header_kind = layout.header_block + kWordBytes;
    layout.header_flags = layout.header_kind + 1;
    layout.header_size = layout.header_block + 2 * kWordBytes;
    layout.header_descriptor = layout.header_block + 3 * kWordBytes;
    return checked(layout);
  }

  // A header of a release before 7: size, two links, descriptor, map, kind, flags.
  Result<Layout> with_word_headers(Layout layout, const Data& data) const {
    const auto free_map = find_free_map(data);
    if (!free_map) return Error{ErrorKind::Malformed, "there is no map of free blocks"};
    layout.word_headers = WordHeaders{.map = 4 * kWordBytes, .free_map = *free_map};
    layout.header_size = 0;
    layout.header_descriptor = 3 * kWordBytes;
    layout.header_kind = 5 * kWordBytes;
    layout.header_flags = layout.header_kind + 1;
    return checked(layout);
  }

  Result<Layout> checked(Layout layout) const {
    const LayoutFit fit = HA_TRY(check_layout(layout, memory_, map_));
    if (fit.headers == 0) return Error{ErrorKind::Malformed, "the index references no header"};
    layout.all_interior_pointers = fit.normal == 0 || fit.spared > 0;
    return layout;
  }

  // The map of free blocks has a byte for each offset in a block, and none of them counts. A
  // variable next to the index points to it.
  [[nodiscard]] std::optional<RemoteAddr> find_free_map(const Data& data) const {
    const auto is_free = [](std::byte entry) { return entry == std::byte{0xff}; };
    std::set<std::uint64_t> seen;
    for (const std::uint64_t word : data.words) {
      if (!anonymous_.contains(word) || !seen.insert(word).second) continue;
      const auto first = memory_.read_as<std::uint64_t>(RemoteAddr{word});
      if (!first || *first != ~std::uint64_t{0}) continue;
      std::vector<std::byte> map(default_.block_bytes());
      if (memory_.read(RemoteAddr{word}, map) && std::all_of(map.begin(), map.end(), is_free)) {
        return RemoteAddr{word};
      }
    }
    return std::nullopt;
  }

  const MemoryReader& memory_;
  const MemoryMap& map_;
  AnonymousMemory anonymous_;
  const Layout default_;
  std::set<std::size_t> tried_;  // offsets in the data where the index does not begin
  bool is_in_change_ = false;
};

constexpr std::size_t kFirstKinds = 4;

// Whether `lists` are four arrays of free lists: in GC_arrays, or next to each other in the data if
// the extent of GC_arrays is unknown.
bool are_free_lists(std::array<std::uint64_t, kFirstKinds> lists,
                    const Data& data,
                    const Range& arrays) {
  constexpr std::uint64_t kListBytes = 129 * kWordBytes;  // MAXOBJGRANULES + 1
  std::sort(lists.begin(), lists.end());
  const Range whole{data.start, data.words.size() * kWordBytes};
  bool are_inside = true;
  bool are_neighbours = whole.contains(RemoteAddr{lists[0]}) && lists[0] % kWordBytes == 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    are_inside = are_inside && arrays.contains(RemoteAddr{lists.at(i)});
    if (i == 0) continue;
    if (lists.at(i) == lists.at(i - 1)) return false;
    are_neighbours = are_neighbours && lists.at(i) - lists.at(i - 1) == kListBytes;
  }
  return are_inside || are_neighbours;
}

}  // namespace

Result<Layout> search_structure(const Module& module,
                                const MemoryReader& memory,
                                const MemoryMap& map) {
  Search search(memory, map);
  for (const Data& data : read_data(module, memory)) {
    auto layout = search.in(data);
    if (layout || layout.error().kind == ErrorKind::Malformed) return layout;
  }
  return Error{ErrorKind::Unsupported,
               fmt::format("the data of {} contains no block index", module.name())};
}

std::optional<Range> search_kinds(const Module& module,
                                  const MemoryReader& memory,
                                  const Range& arrays) {
  // gc_priv.h, struct obj_kind: free lists, reclaim list, descriptor, flags, and in most builds a
  // disclaim procedure. There are 16 of them; the first four always exist.
  constexpr std::uint64_t kKinds = 16;
  for (const Data& data : read_data(module, memory)) {
    for (const std::uint64_t kind_words : {6U, 5U, 4U}) {
      for (std::size_t i = 0; i + kKinds * kind_words <= data.words.size(); ++i) {
        std::array<std::uint64_t, kFirstKinds> lists{};
        for (std::size_t kind = 0; kind < kFirstKinds; ++kind) {
          lists.at(kind) = data.words[i + kind * kind_words];
        }
        const RemoteAddr at = data.start + i * kWordBytes;
        if (are_free_lists(lists, data, arrays) && !arrays.contains(at)) {
          return Range{at, kKinds * kind_words * kWordBytes};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace heapattach::boehm
