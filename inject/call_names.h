#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heapattach {

// The name of a system call number on this processor; "call 999" for an unknown one.
[[nodiscard]] std::string call_name(long number);

// The number of the system call with that name, if there is one.
[[nodiscard]] std::optional<int> call_number(std::string_view name);

}  // namespace heapattach
