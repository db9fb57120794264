#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heapattach::unwind {

// The registers that a suspended Crystal fiber has on its stack, by DWARF number, from the saved
// stack pointer upwards. An empty entry is a word that is no register that we know. The fiber's
// stack pointer was above all of them.
[[nodiscard]] std::span<const std::optional<std::uint8_t>> saved_by_fiber(std::uint16_t machine);

}  // namespace heapattach::unwind
