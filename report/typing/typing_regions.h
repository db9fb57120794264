#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "report/model/model.h"

namespace heapattach::snapshot {

// A pointer, with its claim about the object that it points to.
struct FoundClaim {
  std::uint64_t word = 0;
  std::uint32_t block = 0;  // the heap block into which the word points
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

// A part of a large object whose type makes claims about other objects.
struct LargePart {
  std::uint32_t block = 0;
  std::uint32_t part = 0;
  TypeIndex row = 0;
};

// The regions of a heap, each of a few hundred kilobytes. A region has the claims that wait for it,
// and the worker that holds it. Only that worker accesses the region's objects and their types, so
// it needs no atomic operations, and the data stays in its core's cache. Pointers into other
// regions are collected until there are many for the same region.
class TypingRegions {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  TypingRegions(std::size_t blocks, unsigned workers);

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(states_.size()); }
  [[nodiscard]] std::uint32_t of(std::uint32_t block) const { return block >> shift_; }
  [[nodiscard]] std::uint32_t first_block(std::uint32_t region) const { return region << shift_; }
  [[nodiscard]] std::uint32_t end_block(std::uint32_t region) const;

  // Leaves a chunk for the worker that holds the region now or takes it next.
  void leave(std::uint32_t region, std::unique_ptr<ClaimChunk> chunk);
  // The number of chunks waiting for a region. The call is cheap.
  [[nodiscard]] std::size_t waiting_for(std::uint32_t region) const {
    return states_[region].waiting.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // Takes a region and the claims waiting for it. Returns false if another worker holds it;
  // `found`, which may be null, is then left to that worker.
  bool hold(std::uint32_t region, std::unique_ptr<ClaimChunk>& found, ClaimChunks& into);
  // Takes the claims waiting for the region that the caller holds. If there are none, releases the
  // region and returns false.
  bool take_or_release(std::uint32_t region, ClaimChunks& into);
  // Returns true on the first call for a region, which the caller must hold.
  bool begin(std::uint32_t region) { return !std::exchange(states_[region].is_begun, true); }

  // Work for an idle worker.
  struct Task {
    std::uint32_t region = kNone;  // the worker that gets the task then holds it
    std::vector<LargePart> parts;
  };
  // Whether any worker is waiting for work. The call is cheap.
  [[nodiscard]] bool is_hungry() const { return idle_.load(std::memory_order_relaxed) != 0; }
  // Offers a region to another worker.
  void offer(std::uint32_t region);
  void give(std::vector<LargePart> parts);
  // Waits for work. Returns false if all workers are waiting, so that there will be no more.
  bool wait_for(Task& task);

  // Makes all other workers stop as soon as possible, because one has failed.
  void abandon();
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }

 private:
  struct State {
    std::mutex mutex;  // guards the following members, except is_begun
    ClaimChunks chunks;
    bool is_held = false;
    bool is_offered = false;
    bool is_begun = false;                  // used by the worker that holds the region
    std::atomic<std::uint32_t> waiting{0};  // the number of chunks
  };

  void add(State& state, std::unique_ptr<ClaimChunk> chunk);
  void take(State& state, ClaimChunks& into);
  bool take_offered(std::unique_lock<std::mutex>& lock, Task& task);

  std::size_t blocks_;
  unsigned shift_;
  unsigned workers_;
  std::deque<State> states_;  // a deque, because a State cannot move
  std::atomic<std::size_t> waiting_{0};

  std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::deque<std::uint32_t> offered_;
  std::vector<std::vector<LargePart>> parts_;
  std::atomic<unsigned> idle_{0};
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace heapattach::snapshot
