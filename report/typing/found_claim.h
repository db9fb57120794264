#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heapattach::snapshot {

// A pointer, with its claim about the object that it points to.
struct FoundClaim {
  std::uint64_t word = 0;
  std::uint32_t block = 0;  // the heap block that the word points into
  std::uint32_t claim = 0;  // a number of TypingPlan
};
static_assert(sizeof(FoundClaim) == 16);

// A chunk of claims, one kilobyte in size.
struct ClaimChunk {
  std::array<FoundClaim, 63> claims;
  std::size_t count = 0;

  [[nodiscard]] bool is_full() const { return count == claims.size(); }
  [[nodiscard]] std::span<const FoundClaim> found() const { return {claims.data(), count}; }
};

using ClaimChunks = std::vector<std::unique_ptr<ClaimChunk>>;

}  // namespace heapattach::snapshot
