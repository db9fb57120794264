#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attach/base/result.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

// Encodes a TypeModel as bytes, to pass it out of a sandbox. Numbers are little-endian. A string is
// its length in 32 bits and its bytes; a list is its length in 32 bits and its elements:
//
//     "types 1\n" types globals notes disagreements
//     type: name shape:8 encoding:8 flags:8 [bytes:64] target:32 [count:64] members virtual_bases
//     enumerators
//           flags: 1 bytes are known, 2 count is known, 4 is_reference, 8 has_header
//     member: name offset:64 type:32 is_base:8 bit_count:8 bit_offset:8
//     virtual_base: type:32 slot:64
//     enumerator: name value:64
//     global: name type:32 address:64
//
// known_from, choices and the results of make_sound() are not written. The other fields of a
// Variable are for locals only.
[[nodiscard]] std::vector<std::byte> to_bytes(const TypeModel& model);

// Accepts any bytes. Returns Malformed if they are not a model. The result must still pass
// make_sound().
Result<TypeModel> model_from_bytes(std::span<const std::byte> bytes);

}  // namespace heapattach::types
