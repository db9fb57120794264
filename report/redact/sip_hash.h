#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heapattach {

// SipHash-2-4 (Aumasson and Bernstein, 2012): without the key, its values cannot be distinguished
// from random ones, however many of them are known.
std::uint64_t sip_hash(const std::array<std::uint64_t, 2>& key, std::string_view text);

}  // namespace heapattach
