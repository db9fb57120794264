#pragma once

#include <cstdint>
#include <string_view>

#include "attach/base/result.h"

namespace heapattach {

// A field of /proc/<pid>/stat, by its number in proc(5), which must be above 3. Malformed if the
// text has no such field or it is not a number.
Result<std::uint64_t> stat_field(std::string_view stat, int number);

}  // namespace heapattach
