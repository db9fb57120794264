#pragma once

#include <cstdint>

#include "report/model/model.h"

namespace heapattach {

// The ids of objects for Chrome's tools. They are odd, below 2^32 and unique, and the same for an
// object at the same address, so that two snapshots of a process can be compared.
//
// The id consists of the lowest 31 bits of the address in units of 16 bytes, which is enough to
// distinguish objects within any 32 GiB. This works for a heap in several distant areas too, as
// long as they do not overlap modulo 32 GiB. If they do, or if addresses are not multiples of 16,
// objects are numbered in order instead. The file is just as good, but cannot be compared with
// another.
class HeapsnapshotIds {
 public:
  explicit HeapsnapshotIds(const snapshot::Snapshot& snapshot);

  [[nodiscard]] bool are_stable() const { return by_address_; }
  // The id of the object at `address`, the `ordinal`th one written.
  [[nodiscard]] std::uint32_t of(std::uint64_t address, std::uint32_t ordinal) const {
    return (by_address_ ? static_cast<std::uint32_t>(address >> 4) << 1 : ordinal << 1) | 1;
  }

 private:
  bool by_address_ = true;
};

}  // namespace heapattach
