#pragma once

#include <functional>

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/cli/runner.h"
#include "report/model/model.h"
#include "report/type_names.h"

namespace heapattach {

// The bytes that the objects of a condition's types retain together. The snapshot must have its
// edges.
[[nodiscard]] std::int64_t retained_by(const FailIf& condition,
                                       const snapshot::Snapshot& snapshot,
                                       snapshot::CountBy by);

// Checks --type and --fail-if against the type names in the snapshots. A condition on an unknown
// type is not evaluated, because a typo must not look like a healthy heap. A known type without
// objects counts as 0. Borrows its arguments.
class Gate {
 public:
  Gate(const Options& options, Console& console) : options_(options), console_(console) {}

  // Adds the types of the snapshot, including those without objects.
  void add(const snapshot::Snapshot& snapshot);

  // The rows to show. Reports --type values that match nothing.
  [[nodiscard]] snapshot::RowChoice rows() const;

  using Measure = std::function<std::int64_t(const FailIf&)>;
  // Adds each condition that is true, with its value, and each unknown name to the answer. Sets its
  // status: FailIfHeld if a condition is true, otherwise Usage if a name is unknown and
  // --allow-missing was not given.
  void judge(const Measure& measure, Answer& answer) const;

 private:
  const Options& options_;
  Console& console_;
  TypeNames names_;
};

}  // namespace heapattach
