#pragma once

#include <cstdint>
#include <string>

#include "attach/result.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// How much one object is, leads to and keeps.
struct ObjectSizes {
  snapshot::ObjectIndex object = 0;
  std::uint64_t bytes = 0;
  std::uint64_t transitive_bytes = 0;  // of it and all that it leads to
  std::uint64_t retained_bytes = 0;  // of it and all that would go with it; 0: no root leads there
};

// Of the object at, or around, `address`. Malformed if there is none. The snapshot must have its
// edges.
Result<ObjectSizes> find_object_sizes(const snapshot::Snapshot& snapshot,
                                      const std::string& address);

}  // namespace heapattach::analyze
