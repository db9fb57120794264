#pragma once

#include <cstdint>

#include "report/model/model.h"

namespace heapattach {

// The numbers that Chrome's tools know objects by: odd, below 2^32, different for each, and, so
// that two snapshots of a process can be compared, the same for an object at the same address.
//
// That is the address in units of 16 bytes, its lowest 31 bits: enough to tell objects apart that
// lie within 32 GiB, wherever that is. A heap in several places far apart keeps that as long as
// the places do not overlap when folded to 32 GiB. Where they do, or where addresses are not
// multiples of 16, objects are numbered in their order instead: the file is as good, but has
// nothing in common with another.
class HeapsnapshotIds {
 public:
  explicit HeapsnapshotIds(const snapshot::Snapshot& snapshot);

  [[nodiscard]] bool are_stable() const { return by_address_; }
  // Of the object at `address`, the `ordinal`th written.
  [[nodiscard]] std::uint32_t of(std::uint64_t address, std::uint32_t ordinal) const {
    return (by_address_ ? static_cast<std::uint32_t>(address >> 4) << 1 : ordinal << 1) | 1;
  }

 private:
  bool by_address_ = true;
};

}  // namespace heapattach
