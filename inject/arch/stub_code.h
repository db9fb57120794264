#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/arch/registers.h"

// The bytes of the stub that the assembler has made, and the operations on them that depend on the
// processor.

// These symbols are hidden, as the assembler declares them, so that they are addressed directly.
#pragma GCC visibility push(hidden)
extern "C" {
extern const std::byte heapattach_function_begin[];
extern const std::byte heapattach_function_returned[];
extern const std::byte heapattach_stub_begin[];
extern const std::byte heapattach_stub_clone[];
extern const std::byte heapattach_stub_call[];
extern const std::byte heapattach_stub_data[];  // after the code
extern const std::byte heapattach_stub_end[];
}
#pragma GCC visibility pop

namespace heapattach {

// The last words that the code loads, after the words of words_to_load().
struct StubWords {
  std::uint64_t stack = 0;
  std::uint64_t goal = 0;
  std::uint64_t mask = 0;
  std::array<std::uint64_t, 2> sleep{};  // struct timespec
  std::array<char, 16> name{};
};

// The flags and the general registers with which a thread goes back, in the order of the code.
[[nodiscard]] std::vector<std::uint64_t> words_to_load(const RawRegisters& way_back);

// Sets the goal of the last jump of a stub that will be at `at`.
void aim(std::span<std::byte> stub, RemoteAddr at, RemoteAddr goal);

// Whether these bytes are the code of a stub, whatever the goal of its last jump is.
[[nodiscard]] bool is_stub_code(std::span<const std::byte> bytes);

}  // namespace heapattach
