#pragma once

#include <string>

#include "report/model/model.h"

namespace heapattach {

// Appends what an object's record says of its values: `,"value":"user-1"` of what is nothing else,
// `,"values":{"@state":"Open","@count":3}` of fields, and `,"cut":true` if some text was longer.
// True if bytes were not UTF-8, so that the record can say "lossy".
bool append_json_values(std::string& out,
                        const snapshot::Snapshot& snapshot,
                        snapshot::ObjectIndex object);

}  // namespace heapattach
