#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heapattach {

// The name of system call `number` on this processor, or "call 999" if the number is unknown.
[[nodiscard]] std::string call_name(long number);

// The number of the system call of this name; nothing if there is no such call.
[[nodiscard]] std::optional<int> call_number(std::string_view name);

}  // namespace heapattach
