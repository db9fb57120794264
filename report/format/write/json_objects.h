#pragma once

#include "report/format/write/json_lines.h"

namespace heapattach {

// Writes the object records of json_lines.h on all cores. This is the part whose speed matters.
Result<JsonLinesWritten> write_json_objects(const snapshot::Snapshot& snapshot,
                                            Sink& sink,
                                            const JsonLinesOptions& options);

}  // namespace heapattach
