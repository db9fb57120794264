#pragma once

#include <cstdint>
#include <optional>

#include <capstone/capstone.h>

namespace heapattach::vlang {

// The constant that an instruction of this processor (e_machine) gives to the number of a sum type
// that its function returns. Only code of x86-64 is known.
[[nodiscard]] std::optional<std::int64_t> number_set(std::uint16_t machine,
                                                     const cs_insn& instruction);

}  // namespace heapattach::vlang
