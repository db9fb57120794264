#pragma once

#include <cstdint>
#include <vector>

#include "attach/result.h"
#include "report/format/read/read_pieces.h"
#include "report/model/model.h"

namespace heapattach::read {

// The names of all workers as those of the whole snapshot: fills its types and sizes, and says what
// each worker's numbers have become.
class JoinedNames {
 public:
  // What a key has become: an Edge's word is `base`, and `step` more for each of its number.
  struct Code {
    std::uint32_t base = 0;
    std::uint32_t step = 0;  // 0: it has no number
  };
  struct OfWorker {
    std::vector<snapshot::TypeIndex> types;
    std::vector<std::uint32_t> sizes;
    std::vector<std::vector<Code>> codes;                 // by type, by key
    std::vector<std::vector<std::uint32_t>> value_paths;  // by type, by path
  };

  // `snapshot` has the types that have a record; those without one follow in the order of the file.
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
