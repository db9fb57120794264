#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/arch/addresses.h"

namespace heapattach::trace {

// Facts about this machine's processor. Programs get no memory at or above kHighestRoom unless they
// ask for it; on aarch64, libraries may be less than 1 GiB below it. Code within kReach of other
// code can refer to everything around that code.
#ifdef __x86_64__
inline constexpr std::uint64_t kHighestRoom = kUsualAddressEnd / 2 - (std::uint64_t{1} << 32);
inline constexpr std::size_t kJumpBytes = 5;
inline constexpr std::uint64_t kReach = 0x7ff00000;
inline constexpr const char* kReachName = "2 GiB";
#else
inline constexpr std::uint64_t kHighestRoom = kUsualAddressEnd;
inline constexpr std::size_t kJumpBytes = 4;
inline constexpr std::uint64_t kReach = 0x7f00000;
inline constexpr const char* kReachName = "128 MiB";
#endif

// A jump instruction from `from` to `to`, which must be within reach.
[[nodiscard]] std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to);
[[nodiscard]] bool can_jump(std::uint64_t from, std::uint64_t to);

// Whether the instruction before the one at `at` calls a function whose address it contains.
[[nodiscard]] bool follows_call(std::span<const std::byte> code, std::size_t at);

// The offset, at or after `from`, of code that only returns, and to which an indirect call may go.
[[nodiscard]] std::optional<std::size_t> find_return(std::span<const std::byte> code,
                                                     std::size_t from);

// The same functions for aarch64 code, on every machine.
namespace on_aarch64 {
[[nodiscard]] std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to);
[[nodiscard]] bool can_jump(std::uint64_t from, std::uint64_t to);
[[nodiscard]] bool follows_call(std::span<const std::byte> code, std::size_t at);
[[nodiscard]] std::optional<std::size_t> find_return(std::span<const std::byte> code,
                                                     std::size_t from);
}  // namespace on_aarch64

}  // namespace heapattach::trace
