#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "report/format/export/root_groups.h"
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

// The objects of a snapshot that are written to a .heapsnapshot, with their ordinals and their
// numbers of edges and pieces. Large objects are split into pieces, because no node may be larger
// than kMostBytes.
class HeapsnapshotObjects {
 public:
  static constexpr std::uint64_t kMostBytes = 0x7fff'fff0;

  struct Large {
    snapshot::ObjectIndex object = 0;
    std::uint64_t rest_bytes = 0;  // beyond kMostBytes

    [[nodiscard]] std::uint64_t pieces() const {
      return (rest_bytes + kMostBytes - 1) / kMostBytes;
    }
    [[nodiscard]] std::uint64_t piece_bytes(std::uint64_t piece) const {
      return std::min(kMostBytes, rest_bytes - piece * kMostBytes);
    }
  };

  explicit HeapsnapshotObjects(const snapshot::Snapshot& snapshot);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t edges() const { return edges_; }  // including those to pieces
  [[nodiscard]] bool is_written(snapshot::ObjectIndex object) const {
    return ordinals_.empty() || is_counted(snapshot_, snapshot_.objects[object]);
  }
  [[nodiscard]] std::uint32_t ordinal_of(snapshot::ObjectIndex object) const {
    return ordinals_.empty() ? object : ordinals_[object];
  }
  // The number of edges to objects that are written, not counting pieces.
  [[nodiscard]] std::uint64_t count_edges(snapshot::ObjectIndex object) const;

  // The objects that need several nodes, in order.
  [[nodiscard]] const std::vector<Large>& large() const { return large_; }
  [[nodiscard]] std::uint64_t pieces() const { return pieces_; }

 private:
  const snapshot::Snapshot& snapshot_;
  std::uint64_t count_ = 0;
  std::uint64_t edges_ = 0;
  std::uint64_t pieces_ = 0;
  std::vector<std::uint32_t> ordinals_;  // empty if the ordinal of each object is its index
  std::vector<Large> large_;
};

// The number of pieces of each object. Call with ascending objects.
class HeapsnapshotPieces {
 public:
  explicit HeapsnapshotPieces(const HeapsnapshotObjects& objects) : large_(objects.large()) {}

  std::uint64_t of(snapshot::ObjectIndex object) {
    if (next_ == large_.size() || large_[next_].object != object) return 0;
    return large_[next_++].pieces();
  }

 private:
  const std::vector<HeapsnapshotObjects::Large>& large_;
  std::size_t next_ = 0;
};

}  // namespace heapattach
