#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "report/typing/typing_regions.h"

namespace heapattach::snapshot {

// What one worker found and has not processed: claims by region, in chunks. Full chunks go where
// all workers find them, except those of this worker's current region.
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

  // For how many regions, other than its own, something was found.
  [[nodiscard]] std::size_t regions_waiting() const { return regions_waiting_; }
  // One of them, if there are any: the next in address order for which no less waits than for
  // others.
  [[nodiscard]] std::uint32_t next_region();
  // Takes a region, which becomes its own, with what waits for it. False if another worker has it:
  // that worker gets what was found for it.
  bool enter(std::uint32_t region);
  // The same for a region that the caller holds already.
  void enter_held(std::uint32_t region);
  // Releases its own region, unless more was left for it meanwhile.
  bool leave_own();
  // Leaves every other region to idle workers.
  void share();

  // What waits for its own region; more may be added. Null if nothing does.
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
  ClaimChunks spare_;  // memory is bounded by what waits now
};

}  // namespace heapattach::snapshot
