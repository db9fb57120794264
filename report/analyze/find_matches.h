#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "report/analyze/find_expression.h"
#include "report/model/model.h"

// Finds the objects for which an expression of --find is true.
namespace heapattach::analyze {

struct FoundObject {
  snapshot::ObjectIndex object = 0;
  // The values of the fields in the conditions, in order: "\"ann\"", "3", "0x7f12a0", "nil".
  std::vector<std::string> values;
};

struct FindMatches {
  std::string type;                // the type's full name, if the expression matches only one type
  std::uint64_t objects = 0;       // of that type
  std::vector<std::string> paths;  // of the conditions, without duplicates
  std::vector<FoundObject> found;  // by address
  std::uint64_t undecided =
      0;  // the result depends on a text that was cut; --values=N keeps more of it
};

// Malformed if the snapshot has no object of the type, if no such object has a field that is used
// in a condition, or if a condition needs values and the snapshot has none. The snapshot must have
// its edges.
Result<FindMatches> find_matches(const snapshot::Snapshot& snapshot,
                                 const FindExpression& expression);

}  // namespace heapattach::analyze
