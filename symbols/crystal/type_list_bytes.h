#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "symbols/crystal/type_info.h"

namespace heapattach::crystal {

// Encodes a worker's result: the compiler's lists, or the error. The reader does not trust the
// bytes: anything that parse_type_lists() could not have returned is Malformed.
[[nodiscard]] std::vector<std::byte> to_bytes(const Result<std::vector<TypeList>>& lists);
Result<std::vector<TypeList>> type_lists_from_bytes(std::span<const std::byte> bytes);

}  // namespace heapattach::crystal
