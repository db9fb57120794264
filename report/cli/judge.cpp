#include "report/cli/judge.h"

#include <vector>

#include <fmt/format.h>

#include "report/glob.h"
#include "report/graph/type_sizes.h"

namespace heapattach {

std::int64_t retained_by(const FailIf& condition,
                         const snapshot::Snapshot& snapshot,
                         snapshot::CountBy by) {
  std::vector<bool> is_chosen;
  is_chosen.reserve(snapshot.types.size());
  for (const snapshot::Type& type : snapshot.types) {
    is_chosen.push_back(matches_glob(condition.type, row_name(type, by)));
  }
  return static_cast<std::int64_t>(graph::retained_by(snapshot, is_chosen));
}

bool any_holds(std::span<const FailIf> conditions,
               std::span<const std::int64_t> measured,
               Console& console) {
  bool any = false;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (!holds(conditions[i], measured[i])) continue;
    any = true;
    console.error(fmt::format("--fail-if '{}' holds: {}", conditions[i].text, measured[i]));
  }
  return any;
}

}  // namespace heapattach
