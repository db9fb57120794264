#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include "attach/base/remote_addr.h"
#include "symbols/crystal/arch/allocation_sites.h"

// How a program's code calls the functions that allocate, as far as single instructions show it.
namespace heapattach::crystal {

// Whether we know the code of a processor (e_machine). The functions below are only for such code;
// processors.h has one of each for each processor.
[[nodiscard]] bool knows_calls(std::uint16_t machine);

// A piece of a program's code, from its file.
struct Code {
  RemoteAddr start;
  std::span<const std::byte> bytes;
  std::uint16_t machine = 0;  // e_machine, one that knows_calls() knows
};

// The result of each allocating function, by the address that is called.
using AllocatorEntries = std::unordered_map<std::uint64_t, Allocator>;

// Calls found(position) for each position at which a direct call may be.
void each_call(const Code& code, const std::function<void(std::size_t position)>& found);

// The target of the direct call at position `at`.
[[nodiscard]] std::uint64_t target_of_call(const Code& code, std::size_t at);

// The position where the size for the call at `at` is set, in either of the two forms that the
// compiler uses; `at` itself if there is none.
[[nodiscard]] std::size_t begin_of_size(const Code& code, std::size_t at);

// Whether the code may store an id. Most functions that allocate do not, and decoding them would
// take most of the time.
[[nodiscard]] bool stores_constant(const Code& body);

// The constant that the beginning of a function passes to the first function that it calls.
[[nodiscard]] std::optional<std::uint32_t> first_constant(const Code& body);

// Adds the stubs that call an allocator through one of the `slots`.
void add_stubs(const Code& code, const AllocatorEntries& slots, AllocatorEntries& entries);

// Adds the runtime's wrappers of allocators that are in `entries`. Returns false if there were
// none.
bool add_wrappers(const Code& code, AllocatorEntries& entries);

}  // namespace heapattach::crystal
