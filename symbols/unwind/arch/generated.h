#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/base/remote_addr.h"

namespace heapattach::unwind {

// A function that a runtime has compiled in the target.
struct GeneratedFunction {
  Range code;
  std::string name;
  std::vector<std::byte> start;  // its code, or as much of that as was copied
};

// The one whose code contains `pc`; null if there is none. They are by address.
[[nodiscard]] const GeneratedFunction* function_at(std::span<const GeneratedFunction> functions,
                                                   RemoteAddr pc);

}  // namespace heapattach::unwind
