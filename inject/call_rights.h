#pragma once

#include <cstdint>
#include <span>

namespace heapattach {

// Access rights of Landlock, with the bits of <linux/landlock.h>. We do not include that header,
// because its version differs between systems.
struct LandlockRights {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

// The rights that these system calls, which the user allows, need. Landlock denies all other
// rights.
[[nodiscard]] LandlockRights rights_for(std::span<const int> calls);

}  // namespace heapattach
