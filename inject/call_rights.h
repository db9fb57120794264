#pragma once

#include <cstdint>
#include <span>

namespace heapattach {

// Rights of Landlock, as in <linux/landlock.h>, whose version differs between systems.
struct LandlockRights {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

// The rights that the extra system calls allowed by the user need. Landlock denies all others.
[[nodiscard]] LandlockRights rights_for(std::span<const int> calls);

}  // namespace heapattach
