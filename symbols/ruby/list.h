#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/ruby/values.h"

namespace heapattach::ruby {

inline constexpr std::size_t kMostThreads = 100'000;
inline constexpr std::size_t kMostRactors = 10'000;

// The nodes of one of Ruby's lists, from its head on. Returns nothing if the list does not return
// to its head, or has more than `most` nodes: what is at `head` may be anything.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> list_nodes(const Values& values,
                                                                   std::uint64_t head,
                                                                   std::size_t most);

}  // namespace heapattach::ruby
