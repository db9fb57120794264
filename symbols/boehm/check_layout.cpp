#include "symbols/boehm/check_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/boehm/blocks.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kMostEntries = 1 << 16;    // of an index
constexpr std::size_t kMostBottomIndexes = 32;     // in a sample
constexpr std::size_t kHeadersOfBottomIndex = 32;  // in a sample
constexpr std::uint64_t kHeaderBytes =
    0x80;  // the fields that we need are all among the first ones
// gc_priv.h of all releases: MAXOBJKINDS is 16, later 24.
constexpr unsigned kMostKinds = 64;

struct SampledHeader {
  RemoteAddr header;
  RemoteAddr block;
  std::array<std::byte, kHeaderBytes> bytes{};

  [[nodiscard]] std::uint64_t word(std::uint64_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] unsigned byte(std::uint64_t offset) const {
    return std::to_integer<unsigned>(bytes.at(offset));
  }
};

// Chooses at most `count` of `all`, evenly spread.
template <class T>
std::vector<T> spread(const std::vector<T>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

Result<std::vector<std::uint64_t>> read_words(const MemoryReader& memory,
                                              RemoteAddr at,
                                              std::uint64_t count) {
  std::vector<std::uint64_t> words(count);
  HA_TRY(memory.read(at, std::as_writable_bytes(std::span(words))));
  return words;
}

// With numbers that no collector has, the walk would be meaningless.
Result<void> check_numbers(const Layout& layout) {
  const auto is_in_header = [](std::uint64_t offset) {
    return offset <= kHeaderBytes - kWordBytes;
  };
  const bool fits = layout.top_shift < 60 && layout.block_shift >= 9 && layout.block_shift < 24 &&
                    layout.top_shift > layout.block_shift &&
                    layout.top_shift - layout.block_shift < 32 && layout.top_mask < kMostEntries &&
                    layout.bottom_mask < kMostEntries && is_in_header(layout.header_size) &&
                    is_in_header(layout.header_descriptor) && is_in_header(layout.header_block) &&
                    (!layout.word_headers || is_in_header(layout.word_headers->map)) &&
                    is_in_header(layout.header_kind) && is_in_header(layout.header_flags) &&
                    (layout.bottom_mask + 1) << layout.block_shift == std::uint64_t{1}
                                                                          << layout.top_shift;
  if (fits) return {};
  return Error{
      ErrorKind::Malformed,
      fmt::format("shifts {} and {} and masks {:#x} and {:#x} do not match", layout.top_shift,
                  layout.block_shift, layout.top_mask, layout.bottom_mask)};
}

class Sampler {
 public:
  Sampler(const Layout& layout, const MemoryReader& memory) : layout_(layout), memory_(memory) {}

  Result<std::vector<SampledHeader>> headers() {
    HA_TRY(check_numbers(layout_));
    const auto top = HA_TRY(read_top_index());
    std::vector<BottomIndex> bottoms;
    for (std::size_t i = 0; i < top.size(); ++i) {
      if (top[i] == 0 || RemoteAddr{top[i]} == layout_.all_nils) continue;
      bottoms.push_back({RemoteAddr{top[i]}, HA_TRY(key_of(RemoteAddr{top[i]}, i))});
    }
    std::vector<SampledHeader> found;
    if (bottoms.empty()) return found;
    for (const BottomIndex& bottom : spread(bottoms, kMostBottomIndexes)) {
      add_headers(bottom, found);
    }
    if (found.empty()) return Error{ErrorKind::Malformed, "no block has a header"};
    return found;
  }

 private:
  struct BottomIndex {
    RemoteAddr at;
    std::uint64_t key = 0;  // the common prefix of all addresses in it
  };

  // If nothing can be read, the layout is wrong; but not if the target has ended.
  Result<std::vector<std::uint64_t>> read_top_index() const {
    auto top = read_words(memory_, layout_.top_index, layout_.top_mask + 1);
    if (top) return top;
    if (top.error().kind == ErrorKind::Fault) top.error().kind = ErrorKind::Malformed;
    return std::move(top.error()).context("reading the top index");
  }

  Result<std::uint64_t> key_of(RemoteAddr bottom, std::uint64_t slot) const {
    if (!layout_.has_hash_chain) return slot;
    const auto key = HA_TRY(memory_.read_as<std::uint64_t>(bottom + layout_.bottom_key));
    if ((key & layout_.top_mask) == slot && key >> (64 - layout_.top_shift) == 0) return key;
    return Error{ErrorKind::Malformed,
                 fmt::format("the bottom index at {} has key {:#x} but is in slot {:#x}", bottom,
                             key, slot)};
  }

  void add_headers(const BottomIndex& bottom, std::vector<SampledHeader>& into) const {
    const auto entries = read_words(memory_, bottom.at, layout_.bottom_mask + 1);
    if (!entries) return;
    std::vector<SampledHeader> all;
    for (std::size_t i = 0; i < entries->size(); ++i) {
      const std::uint64_t entry = (*entries)[i];
      if (entry < layout_.block_bytes()) {
        continue;  // none, or the distance in blocks into a large one
      }
      all.push_back({RemoteAddr{entry},
                     RemoteAddr{(bottom.key << layout_.top_shift) + (i << layout_.block_shift)}});
    }
    for (SampledHeader& header : spread(all, kHeadersOfBottomIndex)) {
      if (memory_.read(header.header, header.bytes)) into.push_back(header);
    }
  }

  const Layout& layout_;
  const MemoryReader& memory_;
};

bool is_heap_memory(const MemoryMap& map, RemoteAddr at) {
  const Mapping* mapping = map.find(at);
  return mapping != nullptr && mapping->is_anonymous() && mapping->is_private;
}

// The reason why a header does not fit the layout; empty if it does.
std::string misfit_of(const SampledHeader& header, const Layout& layout, const MemoryMap& map) {
  const Header read = read_header(layout, header.bytes);
  const std::uint64_t size = read.object_bytes;
  const unsigned kind = read.kind;
  if (!is_heap_memory(map, header.block)) {
    return fmt::format("block {} is not in anonymous memory", header.block);
  }
  if (size == 0 || size % layout.granule_bytes() != 0 || size >> 47 != 0) {
    return fmt::format("the header at {} has size {:#x}", header.header, size);
  }
  if (read.is_free()) {
    if (size % layout.block_bytes() == 0) return {};
    return fmt::format("the free block at {} has size {:#x}", header.block, size);
  }
  if (!layout.word_headers && read.block != header.block) {
    return fmt::format("the header at {} is for block {} and names {}", header.header, header.block,
                       read.block);
  }
  if (kind >= kMostKinds) return fmt::format("the header at {} has kind {}", header.header, kind);
  const std::uint64_t descriptor = read.descriptor;
  // A length: that of the object, with or without the byte that keeps pointers from pointing past
  // its end.
  const bool is_length_of_object = descriptor <= size && size - descriptor < layout.granule_bytes();
  if ((kind == heap::kAtomic && descriptor != 0) ||
      (kind == heap::kNormal && !is_length_of_object)) {
    return fmt::format("the header at {} has kind {}, size {:#x} and descriptor {:#x}",
                       header.header, kind, size, descriptor);
  }
  return {};
}

void count_spared(const SampledHeader& header, const Layout& layout, LayoutFit& fit) {
  const Header read = read_header(layout, header.bytes);
  if (read.is_free() || read.kind != heap::kNormal) return;
  ++fit.normal;
  if (read.descriptor < read.object_bytes) ++fit.spared;
}

}  // namespace

Result<LayoutFit> check_layout(const Layout& layout,
                               const MemoryReader& memory,
                               const MemoryMap& map) {
  LayoutFit fit;
  std::string first;
  for (const SampledHeader& header : HA_TRY(Sampler(layout, memory).headers())) {
    const std::string misfit = misfit_of(header, layout, map);
    ++fit.headers;
    if (misfit.empty()) {
      count_spared(header, layout, fit);
      continue;
    }
    ++fit.misfits;
    if (first.empty()) first = misfit;
  }
  // The map may be older than the newest blocks, and a block may change its use meanwhile.
  if (fit.misfits * 8 <= fit.headers) return fit;
  return Error{ErrorKind::Malformed,
               fmt::format("{} of {} headers do not fit: {}", fit.misfits, fit.headers, first)};
}

Result<std::uint64_t> find_block_field(const Layout& layout, const MemoryReader& memory) {
  // Its offset in all releases, used for a heap without evidence.
  constexpr std::uint64_t kUsual = 0x10;
  auto headers = HA_TRY(Sampler(layout, memory).headers());
  // The header of a free block need not name it.
  std::erase_if(headers, [&](const SampledHeader& header) {
    return (header.byte(layout.header_flags) & kFreeBlock) != 0;
  });
  if (headers.empty()) return kUsual;
  for (std::uint64_t offset = 0; offset + kWordBytes <= kHeaderBytes; offset += kWordBytes) {
    const auto fits =
        std::count_if(headers.begin(), headers.end(), [&](const SampledHeader& header) {
          return RemoteAddr{header.word(offset)} == header.block;
        });
    if (fits > 0 && static_cast<std::size_t>(fits) * 8 >= headers.size() * 7) return offset;
  }
  return Error{ErrorKind::Malformed,
               fmt::format("none of {} headers names its own block", headers.size())};
}

}  // namespace heapattach::boehm
