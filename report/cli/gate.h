#pragma once

#include <functional>

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/cli/runner.h"
#include "report/model/model.h"
#include "report/type_names.h"

namespace heapattach {

// The bytes that the objects of a condition's types retain together. The snapshot has its edges.
[[nodiscard]] std::int64_t retained_by(const FailIf& condition,
                                       const snapshot::Snapshot& snapshot,
                                       snapshot::CountBy by);

// What --type and --fail-if say of types, with the names that these have in the snapshots. A
// condition on a type that no snapshot knows is not judged: a typo must not pass for a heap that is
// as it should be. A type that is known and has no objects counts 0. Borrows both.
class Gate {
 public:
  Gate(const Options& options, Console& console) : options_(options), console_(console) {}

  // Knows the types of the snapshot from now on, those too that have no objects.
  void add(const snapshot::Snapshot& snapshot);

  // The rows to show; says which of --type name nothing.
  [[nodiscard]] snapshot::RowChoice rows() const;

  using Measure = std::function<std::int64_t(const FailIf&)>;
  // Adds to the answer what each condition that holds found, and which name is of no type; and sets
  // its status: FailIfHeld if one holds, else Usage if one names no type and --allow-missing was
  // not given.
  void judge(const Measure& measure, Answer& answer) const;

 private:
  const Options& options_;
  Console& console_;
  TypeNames names_;
};

}  // namespace heapattach
