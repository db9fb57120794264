#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heapattach {

// SipHash-2-4 (Aumasson and Bernstein, 2012): who does not know the key cannot tell its values from
// random ones, however many he has seen.
std::uint64_t sip_hash(const std::array<std::uint64_t, 2>& key, std::string_view text);

}  // namespace heapattach
