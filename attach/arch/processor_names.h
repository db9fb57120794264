#pragma once

#include <array>
#include <string_view>

namespace heapattach {

// The processor of this machine, as the names of its directories have it.
#ifdef __x86_64__
inline constexpr std::string_view kOwnProcessorName = "x86_64";
#else
inline constexpr std::string_view kOwnProcessorName = "aarch64";
#endif

// glibc's loader on each of them, without ".so".
inline constexpr std::array<std::string_view, 2> kLoaderNames = {"ld-linux-x86-64",
                                                                 "ld-linux-aarch64"};

}  // namespace heapattach
