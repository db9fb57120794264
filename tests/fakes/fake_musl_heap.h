#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/memory/capture.h"
#include "symbols/musl/context.h"
#include "symbols/musl/heap.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// A process with a heap of musl's malloc, written by hand: the C library's data, areas of metas,
// and groups. A group's slots are free until allocate() takes them.
class FakeMuslHeap {
 public:
  FakeMuslHeap();

  // These functions add a group, and return its number. `size_class` is an index into musl's table
  // of sizes, and `units` is the entry there.
  unsigned add_group(unsigned size_class, std::uint64_t units, unsigned slots);
  unsigned add_nested(
      unsigned outer, unsigned slot, unsigned size_class, std::uint64_t units, unsigned slots);
  unsigned add_donated(unsigned size_class, std::uint64_t units);  // in the C library's data
  unsigned add_mapped(std::uint64_t pages);                        // with one slot, of no class

  // Takes a slot for `bytes`, which begin `later` units after the slot's start. Returns the address
  // of the program's memory.
  RemoteAddr allocate(unsigned group, unsigned slot, std::uint64_t bytes, std::uint64_t later = 0);
  // Overwrites the number of unused bytes at the end of a slot.
  void overwrite_end(RemoteAddr slot, std::uint64_t stride) {
    memory_.put(slot + stride - 8, std::uint32_t{0x41414141});
  }
  // Takes a slot, but leaves it without a header.
  void take(unsigned group, unsigned slot);
  void release(unsigned group, unsigned slot);

  void add_free_metas(unsigned count);
  // Leaves the other metas of this area unused, and begins another area.
  void begin_area();
  // Makes malloc count that many slots too many in this class.
  void miscount(unsigned size_class, std::uint64_t slots) { counted_.at(size_class) += slots; }

  void poke(RemoteAddr at, std::uint64_t word) { memory_.put(at, word); }
  [[nodiscard]] std::uint64_t peek(RemoteAddr at);
  [[nodiscard]] RemoteAddr meta(unsigned group) const { return groups_.at(group).meta; }
  [[nodiscard]] RemoteAddr at(unsigned group) const { return groups_.at(group).at; }
  [[nodiscard]] RemoteAddr first_area() const { return kAreas; }
  static constexpr std::uint64_t kSecret = 0x5ec2e75ec2e7beef;

  // Ends the last area, and reads the heap.
  Result<musl::Heap> read(std::size_t threads = 1);
  // Reads the heap as it is.
  Result<musl::Heap> read_again(std::size_t threads = 1);
  [[nodiscard]] const Capture& capture() const { return *capture_; }

 private:
  static constexpr RemoteAddr kData{0x7f0000000000};
  static constexpr std::uint64_t kDataBytes = 0x4000;
  static constexpr RemoteAddr kContext{0x7f0000001120};
  static constexpr RemoteAddr kDonated{0x7f0000002000};
  static constexpr RemoteAddr kAreas{0x555555001000};
  static constexpr std::uint64_t kAreaBytes = 0x4000;
  static constexpr RemoteAddr kMapped{0x7e0000000000};
  static constexpr std::uint64_t kMappedBytes = 0x500000;

  struct Written {
    RemoteAddr meta;
    RemoteAddr at;
    std::uint64_t stride = 0;
  };

  RemoteAddr next_meta();
  unsigned add(RemoteAddr at, std::uint64_t units, unsigned slots, std::uint64_t numbers);

  FakeMemory memory_;
  std::vector<Written> groups_;
  RemoteAddr area_ = kAreas;
  unsigned metas_ = 0;  // of this area, in use or free
  RemoteAddr next_mapped_ = kMapped;
  RemoteAddr next_donated_ = kDonated;
  RemoteAddr first_free_;
  std::vector<std::uint64_t> counted_;
  std::unique_ptr<Capture> capture_;
};

}  // namespace heapattach
