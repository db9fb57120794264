#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/model/model.h"

namespace heapattach::read {

// Looks up objects by address. Finds the 4 KiB page first, which has at most a few hundred objects,
// then the object by binary search. Borrows the objects, which must be sorted by address.
class AddressIndex {
 public:
  static constexpr snapshot::ObjectIndex kNone = 0xffffffff;

  explicit AddressIndex(std::span<const snapshot::Object> objects);

  // kNone if no object starts there.
  [[nodiscard]] snapshot::ObjectIndex find(std::uint64_t address) const;
  // Prefetches the data that find() reads first.
  void prefetch(std::uint64_t address) const {
    __builtin_prefetch(&slots_[slot_of(address >> 12)]);
  }

 private:
  struct Slot {
    std::uint64_t page = ~std::uint64_t{0};
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  [[nodiscard]] std::size_t slot_of(std::uint64_t page) const {
    return static_cast<std::size_t>((page * multiplier_) >> shift_);
  }
  Slot& place_for(std::uint64_t page);

  std::span<const snapshot::Object> objects_;
  std::vector<Slot> slots_;
  std::uint64_t multiplier_ = 0;
  int shift_ = 0;
};

}  // namespace heapattach::read
