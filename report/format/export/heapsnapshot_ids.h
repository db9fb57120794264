#pragma once

#include <cstdint>

#include "report/model/model.h"

namespace heapattach {

// The ids by which Chrome's tools know objects: odd, below 2^32, different for each, and the same
// for an object at the same address, so that two snapshots of a process can be compared.
//
// The id is the address in units of 16 bytes, its lowest 31 bits: enough to distinguish objects
// within any 32 GiB. A heap in several distant areas keeps this as long as the areas do not overlap
// when folded to 32 GiB. If they do, or if addresses are not multiples of 16, objects are numbered
// in order instead: the file is as good, but cannot be compared with another.
class HeapsnapshotIds {
 public:
  explicit HeapsnapshotIds(const snapshot::Snapshot& snapshot);

  [[nodiscard]] bool are_stable() const { return by_address_; }
  // For the object at `address`, the `ordinal`th one written.
  [[nodiscard]] std::uint32_t of(std::uint64_t address, std::uint32_t ordinal) const {
    return (by_address_ ? static_cast<std::uint32_t>(address >> 4) << 1 : ordinal << 1) | 1;
  }

 private:
  bool by_address_ = true;
};

}  // namespace heapattach
