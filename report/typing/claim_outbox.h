#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "report/typing/typing_regions.h"

namespace heapattach::snapshot {

// The claims that one worker has found but not yet processed, by region, in chunks. Full chunks go
// to all workers, except those for this worker's current region.
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

  // The number of regions, other than the worker's own, for which claims are waiting here.
  [[nodiscard]] std::size_t regions_waiting() const { return regions_waiting_; }
  // The next of these regions, in address order, for which at least the average number of chunks is
  // waiting.
  [[nodiscard]] std::uint32_t next_region();
  // Takes a region, along with the claims waiting for it. Returns false if another worker holds it;
  // that worker then gets the claims.
  bool enter(std::uint32_t region);
  // Enters a region that the caller already holds.
  void enter_held(std::uint32_t region);
  // Releases the worker's own region, unless more claims for it have arrived in the meantime.
  bool leave_own();
  // Leaves every other region to idle workers.
  void share();

  // Takes a chunk of claims that waits for the worker's own region; null if there is none. More may
  // be added later.
  [[nodiscard]] std::unique_ptr<ClaimChunk> take_own();
  // Takes back a chunk for reuse.
  void give_back(std::unique_ptr<ClaimChunk> chunk) { spare_.push_back(std::move(chunk)); }

 private:
  ClaimChunk* begin_chunk(std::uint32_t region);
  void end_chunk(std::uint32_t region);
  [[nodiscard]] std::uint32_t next_marked();
  void mark(std::uint32_t region, bool is_waiting);

  TypingRegions& regions_;
  ClaimChunks found_;                      // for each region, a chunk that is not full, or null
  std::vector<std::uint64_t> is_waiting_;  // one bit for each region
  std::size_t regions_waiting_ = 0;        // the number of set bits
  std::uint32_t cursor_ = 0;               // where next_region() begins
  std::uint32_t own_ = TypingRegions::kNone;
  ClaimChunks own_chunks_;
  ClaimChunks spare_;  // chunks for reuse, so that memory is bounded by the claims waiting now
};

}  // namespace heapattach::snapshot
