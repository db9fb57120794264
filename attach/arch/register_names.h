#pragma once

#include <array>

namespace heapattach {

// The names of Registers::general, in its order.
inline constexpr std::array<const char*, 15> kRegisterNames = {"rax", "rbx", "rcx", "rdx", "rsi",
                                                               "rdi", "rbp", "r8",  "r9",  "r10",
                                                               "r11", "r12", "r13", "r14", "r15"};

}  // namespace heapattach
