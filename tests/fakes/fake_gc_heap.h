#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

#include "attach/process/memory_map.h"
#include "symbols/boehm/blocks.h"
#include "symbols/heap/blocks.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// A collector's heap built by hand in a FakeMemory, in the layout of libgc 8.2.2 on x86-64: top
// index, bottom indices, headers with mark bytes, and blocks of objects.
//
//   FakeGcHeap heap;
//   const RemoteAddr node = heap.add_block({.object_bytes = 32});
//   heap.put(node + 8, node + 32);            // the first object points to the second
//   read_blocks(heap.memory(), heap.map(), heap.layout());
//
// Nothing is checked here: a test that needs corrupt data writes them with put().
class FakeGcHeap {
 public:
  static constexpr std::uint64_t kBlockBytes = 4096;
  static constexpr RemoteAddr kTopIndex{0x5550'0000'0000};
  static constexpr RemoteAddr kAllNils{0x5550'0001'0000};
  static constexpr RemoteAddr kBottoms{0x5550'0010'0000};
  static constexpr RemoteAddr kHeaders{0x5550'0020'0000};
  static constexpr RemoteAddr kMaps{0x5550'0030'0000};  // the maps of free and of other blocks
  static constexpr RemoteAddr kFreeMapVariable{0x5550'0000'4000};  // after the top index
  static constexpr RemoteAddr kHeap{0x7f12'3440'0000};
  static constexpr std::uint64_t kHeaderBytes = 328;
  static constexpr std::uint64_t kMarksAt = 0x40;
  static constexpr std::uint64_t kMaxBottoms = 8;
  static constexpr std::uint64_t kMaxHeaders = 128;

  // The block that add_block() makes. Omitted fields are as the collector would set them.
  struct BlockSpec {
    std::uint64_t object_bytes = 0;
    std::uint8_t kind = heap::kNormal;
    std::uint8_t flags = 0;
    std::optional<std::uint64_t> descriptor = std::nullopt;
    std::optional<RemoteAddr> at = std::nullopt;  // none: after the last block
  };

  // Makes a heap of `pages` blocks, which begins at kHeap.
  explicit FakeGcHeap(std::uint64_t pages = 64);
  ~FakeGcHeap();
  FakeGcHeap(const FakeGcHeap&) = delete;
  FakeGcHeap& operator=(const FakeGcHeap&) = delete;

  // Gives blocks the headers of Mono's collector, a release before 7. Must be called first.
  void use_word_headers();

  // Adds a block, or all blocks of one large object, and returns the address.
  RemoteAddr add_block(const BlockSpec& spec);

  // Sets the mark of the object at `at` in the block at `block`, as the last collection would.
  void set_mark(RemoteAddr block, RemoteAddr at);

  // Sets the index entry of the block at `at`.
  void set_entry(RemoteAddr at, std::uint64_t entry);

  // The bottom index of the 4 MiB around `at`. If there is none, makes one at the head of its
  // chain.
  RemoteAddr bottom_of(RemoteAddr at);

  [[nodiscard]] RemoteAddr header_of(RemoteAddr block) const;

  template <class T>
  void put(RemoteAddr at, const T& value) {
    memory_.put(at, value);
  }
  // Links objects as a free list does: the first word of each is the address of the next, and 0 in
  // the last.
  void link(std::initializer_list<RemoteAddr> objects);
  // Adds other memory, such as a stack or a module's data.
  void add_memory(RemoteAddr at, std::uint64_t bytes);

  [[nodiscard]] FakeMemory& memory() { return memory_; }
  boehm::Layout& layout() { return layout_; }

  [[nodiscard]] MemoryMap map() const;

 private:
  void put_header(RemoteAddr header, RemoteAddr block, const BlockSpec& spec);

  static constexpr std::uint64_t kBottomBytes = 0x2020;
  static constexpr std::uint64_t kBottomStride = 0x2040;

  FakeMemory memory_;
  boehm::Layout layout_;
  std::uint64_t pages_;
  RemoteAddr next_ = kHeap;
  std::map<RemoteAddr, RemoteAddr> headers_;     // by block
  std::map<RemoteAddr, std::uint64_t> marks_;    // the number of set marks, by block
  std::map<std::uint64_t, RemoteAddr> bottoms_;  // by key
  std::vector<Range> extra_;
};

}  // namespace heapattach
