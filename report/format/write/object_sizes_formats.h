#pragma once

#include <string>

#include "report/analyze/object_sizes.h"

namespace heapattach {

[[nodiscard]] std::string format_object_sizes_text(const snapshot::Snapshot& snapshot,
                                                   const analyze::ObjectSizes& sizes);
// The sizes of an object, on one line:
// {"version":1,"pid":4711,"address":"0x7f12a0","type":"Session","bytes":48,
// "transitive_bytes":N,"retained_bytes":N}
[[nodiscard]] std::string format_object_sizes_json(const snapshot::Snapshot& snapshot,
                                                   const analyze::ObjectSizes& sizes);

}  // namespace heapattach
