#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/ruby/values.h"

namespace heapattach::ruby {

inline constexpr std::size_t kMostThreads = 100'000;
inline constexpr std::size_t kMostRactors = 10'000;

// The nodes of one of Ruby's lists, from its head on. Returns nothing if they do not lead back to
// it, or if there are more than `most`: what is at `head` may be anything else.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> list_nodes(const Values& values,
                                                                   std::uint64_t head,
                                                                   std::size_t most);

}  // namespace heapattach::ruby
