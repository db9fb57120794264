#include "report/cli/gate.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/analyze/type_sizes.h"
#include "report/type_names.h"

namespace heapattach {

std::int64_t retained_by(const FailIf& condition,
                         const snapshot::Snapshot& snapshot,
                         snapshot::CountBy by) {
  std::vector<bool> is_chosen;
  is_chosen.reserve(snapshot.types.size());
  for (const snapshot::Type& type : snapshot.types) {
    is_chosen.push_back(matches_type(condition.type, row_name(type, by)));
  }
  return static_cast<std::int64_t>(analyze::retained_by(snapshot, is_chosen));
}

void Gate::add(const snapshot::Snapshot& snapshot) {
  if (options_.fail_if.empty() && options_.rows.types.empty()) return;
  for (const snapshot::Type& type : snapshot.types) names_.add(row_name(type, options_.by));
}

snapshot::RowChoice Gate::rows() const {
  snapshot::RowChoice rows = options_.rows;
  for (std::string& type : rows.types) {
    NamedType named = names_.find(type);
    if (named.name.empty()) {
      console_.error(fmt::format("--type: {}", named.problem));
    } else {
      type = std::move(named.name);
    }
  }
  return rows;
}

void Gate::judge(const Measure& measure, Answer& answer) const {
  const auto is_known = [&](const std::string& type) { return !names_.find(type).name.empty(); };
  bool is_missing = !options_.allow_missing &&
                    !std::all_of(options_.rows.types.begin(), options_.rows.types.end(), is_known);
  bool is_held = false;
  for (FailIf condition : options_.fail_if) {
    NamedType named = names_.find(condition.type);
    if (named.name.empty() && !options_.allow_missing) {
      answer.remarks.push_back(fmt::format("--fail-if '{}': {}; --allow-missing counts 0 for it",
                                           condition.text, named.problem));
      is_missing = true;
      continue;
    }
    if (!named.name.empty()) condition.type = std::move(named.name);
    const std::int64_t measured = measure(condition);
    if (!holds(condition, measured)) continue;
    is_held = true;
    answer.remarks.push_back(fmt::format("--fail-if '{}' is true: {}", condition.text, measured));
  }
  if (is_held) {
    answer.status = ExitStatus::FailIfHeld;
  } else if (is_missing) {
    answer.status = ExitStatus::Usage;
  }
}

}  // namespace heapattach
