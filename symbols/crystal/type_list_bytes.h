#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "symbols/crystal/type_info.h"

namespace heapattach::crystal {

// A worker's result about the compiler's lists, as bytes: the lists, or the error. The reader
// trusts nothing: anything that parse_type_lists() could not return is Malformed.
[[nodiscard]] std::vector<std::byte> to_bytes(const Result<std::vector<TypeList>>& lists);
Result<std::vector<TypeList>> type_lists_from_bytes(std::span<const std::byte> bytes);

}  // namespace heapattach::crystal
