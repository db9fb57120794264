#pragma once

#include "report/model/model.h"
#include "report/redact/placeholders.h"

namespace heapattach {

// Replaces in a snapshot whatever the program, its users and its machine called anything, and drops
// values and contents: names of types, fields, variables, functions, threads, fibers, files and the
// host. What belongs to a library keeps its name (library_names.h). Numbers, addresses, sizes and
// edges stay, and so do counts by type: different names have different placeholders. Returns false,
// and changes nothing, if that was done before.
bool redact(snapshot::Snapshot& snapshot, const Placeholders& names);

}  // namespace heapattach
