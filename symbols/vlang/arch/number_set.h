#pragma once

#include <cstdint>
#include <optional>

#include <capstone/capstone.h>

namespace heapattach::vlang {

// The type number that an instruction of this processor (e_machine) puts into the sum type that its
// function returns; nothing for other instructions. Only x86-64 code is known.
[[nodiscard]] std::optional<std::int64_t> number_set(std::uint16_t machine,
                                                     const cs_insn& instruction);

}  // namespace heapattach::vlang
