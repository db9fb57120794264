#pragma once

#include <cstdint>
#include <string>

#include "attach/base/result.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// The sizes of one object: its own, including everything that it references, and retained.
struct ObjectSizes {
  snapshot::ObjectIndex object = 0;
  std::uint64_t bytes = 0;
  std::uint64_t transitive_bytes = 0;  // also of everything that it references, directly or not
  std::uint64_t retained_bytes =
      0;  // of it and everything that only it keeps alive; 0 if unreachable
};

// For the object that contains `address`. Malformed if there is none. The snapshot must have its
// edges.
Result<ObjectSizes> find_object_sizes(const snapshot::Snapshot& snapshot,
                                      const std::string& address);

}  // namespace heapattach::analyze
