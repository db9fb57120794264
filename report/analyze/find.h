#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "report/model/model.h"

// Finds the objects that a user means by an address or by the name of a type.
namespace heapattach::analyze {

// Parses "0x7f12a0"; nothing if it is not an address.
[[nodiscard]] std::optional<std::uint64_t> parse_address(const std::string& text);

// The object that contains an address. Malformed if no object does.
Result<snapshot::ObjectIndex> find_object(const snapshot::Snapshot& snapshot,
                                          std::uint64_t address);

// All objects of the types that match `type` (type_names.h). Malformed, with some similar names, if
// no type matches.
Result<std::vector<snapshot::ObjectIndex>> find_objects(const snapshot::Snapshot& snapshot,
                                                        const std::string& type);

}  // namespace heapattach::analyze
