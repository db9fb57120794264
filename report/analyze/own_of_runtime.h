#pragma once

#include <optional>
#include <unordered_map>

#include "report/analyze/edge_names.h"
#include "report/analyze/root_paths.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// Distinguishes objects that a runtime keeps for itself in every program from the program's own.
// Ruby keeps the names of all Symbols and the list of installed gems: half of a small program's
// heap, and not a leak. Borrows the snapshot and the names.
class OwnOfRuntime {
 public:
  OwnOfRuntime(const snapshot::Snapshot& snapshot, EdgeNames& names);

  // Whether the path to an object leads only through the runtime's own objects: none of them has a
  // class of the program's, or belongs to a module or a constant of the program's. A path that
  // shows no owner counts as the program's.
  [[nodiscard]] bool has_only_own(const snapshot::Root& root, const RootPath& path) const;
  [[nodiscard]] bool is_own_type(snapshot::TypeIndex type) const;
  // The most bytes that a runtime keeps for itself in a heap with `live_bytes`. More may be a leak
  // in one of its libraries.
  [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t live_bytes);

 private:
  void name_modules_in(snapshot::ObjectIndex module, bool is_own);
  [[nodiscard]] bool is_module(snapshot::ObjectIndex object) const;
  [[nodiscard]] bool may_be_own_module(snapshot::ObjectIndex object) const;
  [[nodiscard]] bool is_constant_of_program(std::uint32_t reference) const;
  [[nodiscard]] const std::string& type_name(snapshot::ObjectIndex object) const {
    return snapshot_.types[snapshot_.objects[object].type].name;
  }

  const snapshot::Snapshot& snapshot_;
  EdgeNames& names_;
  std::optional<snapshot::ObjectIndex> top_;  // Ruby's Object, whose constants are known everywhere
  std::unordered_map<snapshot::ObjectIndex, bool> is_own_;  // by module
};

}  // namespace heapattach::analyze
