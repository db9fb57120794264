#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/model/model.h"

namespace heapattach::read {

// Which object stands at an address: by the page of four kilobytes that it lies in, which has a few
// hundred objects at most, and then by halving. Borrows the objects, sorted by address.
class AddressIndex {
 public:
  static constexpr snapshot::ObjectIndex kNone = 0xffffffff;

  explicit AddressIndex(std::span<const snapshot::Object> objects);

  // kNone if no object begins there.
  [[nodiscard]] snapshot::ObjectIndex find(std::uint64_t address) const;
  // Asks memory for what find() will look at first.
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
