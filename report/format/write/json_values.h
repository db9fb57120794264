#pragma once

#include <string>

#include "report/model/model.h"

namespace heapattach {

// Appends an object's values to its record: `,"value":"user-1"` for an object that is only a value,
// `,"values":{"@state":"Open","@count":3}` for fields, and `,"cut":true` if a text was cut. Returns
// true if bytes were not UTF-8, so that the record can be marked "lossy".
bool append_json_values(std::string& out,
                        const snapshot::Snapshot& snapshot,
                        snapshot::ObjectIndex object);

}  // namespace heapattach
