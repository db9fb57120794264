#pragma once

#include "report/model/model.h"
#include "report/redact/placeholders.h"

namespace heapattach {

// Replaces all names in a snapshot that come from the program, its users or its machine: names of
// types, fields, variables, functions, threads, fibers, files and the host. Drops values and
// contents. Library names are kept (library_names.h), and so are numbers, addresses, sizes and
// edges. Counts by type stay the same, because different names get different placeholders. Returns
// false, and changes nothing, if the snapshot is already redacted.
bool redact(snapshot::Snapshot& snapshot, const Placeholders& names);

}  // namespace heapattach
