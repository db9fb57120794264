#pragma once

#include <cstdint>
#include <string>

namespace heapattach {

// A number of bytes in readable form: "17 bytes", "1.5 KiB", "534.1 MiB".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

}  // namespace heapattach
