#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heapattach::stacks {

// The signals that a program handles itself, from /proc/<pid>/status: bit N - 1 is for signal N.
// Omits those that collectors, Crystal and the C library handle in every program.
[[nodiscard]] std::optional<std::uint64_t> caught_signals_in(std::string_view status);

// "SIGINT or SIGTERM".
[[nodiscard]] std::string words_for(std::uint64_t signals);

}  // namespace heapattach::stacks
