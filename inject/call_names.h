#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heapattach {

// What x86-64 calls the system call of that number; "call 999" for one that is not known here.
[[nodiscard]] std::string call_name(long number);

// The number of the system call with that name; none if there is none.
[[nodiscard]] std::optional<int> call_number(std::string_view name);

}  // namespace heapattach
