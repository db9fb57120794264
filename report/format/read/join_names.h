#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/result.h"
#include "report/format/read/read_pieces.h"
#include "report/model/model.h"

namespace heapattach::read {

// Merges the names from all workers: fills the snapshot's types and sizes, and maps each worker's
// numbers to them.
class JoinedNames {
 public:
  // The code of a key. An Edge's word is `base` plus `step` times the key's number.
  struct Code {
    std::uint32_t base = 0;
    std::uint32_t step = 0;  // 0: no number
  };
  struct OfWorker {
    std::vector<snapshot::TypeIndex> types;
    std::vector<std::uint32_t> sizes;
    std::vector<std::vector<Code>> codes;                 // by type, by key
    std::vector<std::vector<std::uint32_t>> value_paths;  // by type, by path
  };

  // `snapshot` has the types that have a record; the other types are added in file order.
  JoinedNames(const Pieces& pieces, snapshot::Snapshot& snapshot);

  [[nodiscard]] const OfWorker& of(const NameTables& names) const;

 private:
  void join_types(snapshot::Snapshot& snapshot);
  void join_sizes(snapshot::Snapshot& snapshot);
  void join_keys(snapshot::Snapshot& snapshot);
  void join_value_paths(snapshot::Snapshot& snapshot);

  const Pieces& pieces_;
  std::vector<OfWorker> of_worker_;  // in the order of Pieces::names
};

}  // namespace heapattach::read
