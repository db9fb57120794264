#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The stubs through which modules call functions of other modules, by processor (e_machine).
namespace heapattach::unwind {

// Whether a relocation of this type fills a word that a stub jumps through.
[[nodiscard]] bool is_word_of_stub(std::uint16_t machine, std::uint64_t type);

// The size of each stub in a section. 0: unknown.
[[nodiscard]] std::uint64_t stub_bytes(std::uint16_t machine,
                                       std::string_view section,
                                       std::uint64_t entry_bytes);

// How a stub names its function: by the number of a relocation, or by the word that it jumps
// through, as a distance from the stub.
struct StubTarget {
  std::optional<std::size_t> number;
  std::optional<std::int64_t> word;
};
// Neither if `code`, which the file has at the address `at`, is not a stub.
[[nodiscard]] StubTarget stub_target(std::uint16_t machine,
                                     std::span<const std::byte> code,
                                     std::uint64_t at);

}  // namespace heapattach::unwind
