#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "report/typing/typing_regions.h"

namespace heapattach::snapshot {

// Claims that one worker has found but not yet processed, by region, in chunks. Full chunks are
// made available to all workers, except those for this worker's current region.
class ClaimOutbox {
 public:
  // Borrows the regions.
  explicit ClaimOutbox(TypingRegions& regions);

  void add(std::uint32_t region, const FoundClaim& found) {
    ClaimChunk* chunk = found_[region].get();
    if (chunk == nullptr) chunk = begin_chunk(region);
    chunk->claims[chunk->count++] = found;
    if (chunk->is_full()) end_chunk(region);
  }

  // The number of regions, other than its own, for which it has claims waiting.
  [[nodiscard]] std::size_t regions_waiting() const { return regions_waiting_; }
  // The next of these regions, in address order, that has at least the average number of chunks
  // waiting.
  [[nodiscard]] std::uint32_t next_region();
  // Takes a region, along with the claims waiting for it. Returns false if another worker holds it;
  // that worker then gets the claims found for it.
  bool enter(std::uint32_t region);
  // Enters a region that the caller already holds.
  void enter_held(std::uint32_t region);
  // Releases its own region, unless more claims for it have arrived in the meantime.
  bool leave_own();
  // Leaves every other region to idle workers.
  void share();

  // A chunk of claims waiting for its own region, or null if there are none; more may be added
  // later.
  [[nodiscard]] std::unique_ptr<ClaimChunk> take_own();
  // Takes back a chunk for reuse.
  void give_back(std::unique_ptr<ClaimChunk> chunk) { spare_.push_back(std::move(chunk)); }

 private:
  ClaimChunk* begin_chunk(std::uint32_t region);
  void end_chunk(std::uint32_t region);
  [[nodiscard]] std::uint32_t next_marked();
  void mark(std::uint32_t region, bool is_waiting);

  TypingRegions& regions_;
  ClaimChunks found_;                      // for each region one that is not full, or null
  std::vector<std::uint64_t> is_waiting_;  // one bit for each region
  std::size_t regions_waiting_ = 0;        // bits that are set
  std::uint32_t cursor_ = 0;               // where to look for the next one
  std::uint32_t own_ = TypingRegions::kNone;
  ClaimChunks own_chunks_;
  ClaimChunks spare_;  // memory is bounded by the claims waiting now
};

}  // namespace heapattach::snapshot
