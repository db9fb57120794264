#include "report/typing/typing_regions.h"

#include <algorithm>
#include <bit>

namespace heapattach::snapshot {

namespace {

constexpr unsigned kLeastShift = 7;  // 128 blocks: 512 KiB of small objects
constexpr std::size_t kMostRegions = 4096;

}  // namespace

TypingRegions::TypingRegions(std::size_t blocks, unsigned workers)
    : blocks_(blocks),
      shift_(std::max(kLeastShift, static_cast<unsigned>(std::bit_width(blocks / kMostRegions)))),
      workers_(workers),
      states_((blocks >> shift_) + 1) {}

std::uint32_t TypingRegions::end_block(std::uint32_t region) const {
  const std::uint64_t end = (std::uint64_t{region} + 1) << shift_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(end, blocks_));
}

void TypingRegions::leave(std::uint32_t region, std::unique_ptr<ClaimChunk> chunk) {
  State& state = states_[region];
  const std::lock_guard lock(state.mutex);
  add(state, std::move(chunk));
}

bool TypingRegions::hold(std::uint32_t region,
                         std::unique_ptr<ClaimChunk>& found,
                         ClaimChunks& into) {
  State& state = states_[region];
  const std::lock_guard lock(state.mutex);
  if (!std::exchange(state.is_held, true)) {
    take(state, into);
    return true;
  }
  if (found != nullptr) add(state, std::move(found));
  return false;
}

bool TypingRegions::take_or_release(std::uint32_t region, ClaimChunks& into) {
  State& state = states_[region];
  const std::lock_guard lock(state.mutex);
  state.is_held = !state.chunks.empty();
  take(state, into);
  return state.is_held;
}

void TypingRegions::add(State& state, std::unique_ptr<ClaimChunk> chunk) {
  state.chunks.push_back(std::move(chunk));
  state.waiting.store(static_cast<std::uint32_t>(state.chunks.size()), std::memory_order_relaxed);
  waiting_.fetch_add(1, std::memory_order_relaxed);
}

void TypingRegions::take(State& state, ClaimChunks& into) {
  if (state.chunks.empty()) return;
  into.swap(state.chunks);
  state.waiting.store(0, std::memory_order_relaxed);
  waiting_.fetch_sub(into.size(), std::memory_order_relaxed);
}

void TypingRegions::offer(std::uint32_t region) {
  {
    State& state = states_[region];
    const std::lock_guard lock(state.mutex);
    // The worker that holds the region sees the waiting claims before it releases the region.
    if (state.is_held || state.is_offered) return;
    state.is_offered = true;
  }
  const std::lock_guard lock(mutex_);
  offered_.push_back(region);
  changed_.notify_one();
}

void TypingRegions::give(std::vector<LargePart> parts) {
  const std::lock_guard lock(mutex_);
  parts_.push_back(std::move(parts));
  changed_.notify_one();
}

bool TypingRegions::wait_for(Task& task) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (is_abandoned()) return false;
    if (!parts_.empty()) {
      task.parts = std::move(parts_.back());
      parts_.pop_back();
      return true;
    }
    if (take_offered(lock, task)) return true;
    if (!offered_.empty() || !parts_.empty()) continue;  // offered while the lock was released
    ++idle_;
    if (idle_ == workers_) {
      changed_.notify_all();
      return false;
    }
    changed_.wait(lock, [&] {
      return !offered_.empty() || !parts_.empty() || idle_ == workers_ || is_abandoned();
    });
    if (idle_ == workers_) return false;
    --idle_;
  }
}

// Takes an offered region. The lock of a region is never taken while the common lock is held.
bool TypingRegions::take_offered(std::unique_lock<std::mutex>& lock, Task& task) {
  while (!offered_.empty()) {
    const std::uint32_t region = offered_.front();
    offered_.pop_front();
    lock.unlock();
    {
      State& state = states_[region];
      const std::lock_guard region_lock(state.mutex);
      state.is_offered = false;
      if (!state.is_held) {
        state.is_held = true;
        task.region = region;
      }
    }
    lock.lock();
    if (task.region != kNone) return true;
  }
  return false;
}

void TypingRegions::abandon() {
  const std::lock_guard lock(mutex_);
  is_abandoned_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

}  // namespace heapattach::snapshot
