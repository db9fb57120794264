#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heapattach {

// "1 object", "2 objects".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view thing);

// A number of bytes in readable form: "17 bytes", "1.5 KiB", "534.1 MiB".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

}  // namespace heapattach
