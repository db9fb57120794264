#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heapattach::ruby {

// The offsets that the exported function rb_during_gc() uses to learn whether a collection is
// running. Both are 0 if its code is not recognised.
struct CollectorFlags {
  std::uint16_t object_space = 0;  // the offset of the object space's address in the machine
  std::uint16_t flags = 0;         // the offset of the flags in the object space
};

// How many bytes of rb_during_gc() are enough for find_collector_flags().
inline constexpr std::size_t kCollectorFlagsCode = 64;

// `code` is rb_during_gc(), for the processor `machine` (e_machine).
[[nodiscard]] CollectorFlags find_collector_flags(std::uint16_t machine,
                                                  std::span<const std::byte> code);

}  // namespace heapattach::ruby
