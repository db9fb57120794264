#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace heapattach::heap {

// Decides which worker should process a block of a heap. Two workers that mark neighbouring objects
// compete for the same cache lines, and on two cores are hardly faster than one. So the heap is
// divided into a few large regions with one owner each, and words found are sent to the owner of
// their block in packets. This is a preference, not a rule: a worker with nothing else to do
// follows such words itself, so that a list that crosses the whole heap is not handed back and
// forth.
class Owners {
 public:
  Owners(std::size_t blocks, unsigned workers)
      : workers_(workers),
        mask_(std::has_single_bit(workers) ? workers - 1 : ~0U),
        shift_(std::max(kLeastShift,
                        static_cast<int>(std::bit_width(blocks / (kRegionsEach * workers))))) {}

  [[nodiscard]] unsigned of(std::uint32_t block) const {
    const unsigned region = block >> shift_;
    return mask_ != ~0U ? region & mask_ : region % workers_;  // divisions are slow
  }
  [[nodiscard]] unsigned workers() const { return workers_; }

 private:
  static constexpr std::size_t kRegionsEach = 8;
  static constexpr int kLeastShift = 4;

  unsigned workers_;
  unsigned mask_;  // if their number is a power of two; otherwise all bits
  int shift_;      // a region has 2^shift_ blocks
};

// Passes packets of work between workers, and keeps track of the workers that wait for one.
template <class Packet>
class Exchange {
 public:
  explicit Exchange(unsigned workers) : inboxes_(workers) {}

  // Whether any worker is waiting. Cheap enough to call often.
  [[nodiscard]] bool is_hungry() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  // Whether there is a packet for `worker`. Cheap enough to call often.
  [[nodiscard]] bool has_for(unsigned worker) const {
    return inboxes_[worker].size.load(std::memory_order_relaxed) != 0;
  }

  // Returns false, with `packet` unchanged, if too many packets are already waiting for that
  // worker.
  bool give(unsigned to, Packet& packet) {
    const std::lock_guard lock(mutex_);
    Inbox& inbox = inboxes_[to];
    if (inbox.packets.size() >= kMostPackets) return false;
    inbox.packets.push_back(std::move(packet));
    packet = {};
    inbox.size.store(inbox.packets.size(), std::memory_order_relaxed);
    changed_.notify_one();
    return true;
  }

  // Takes a packet that was given to `worker`, if there is one.
  bool take_own(unsigned worker, Packet& into) {
    const std::lock_guard lock(mutex_);
    return take_from(inboxes_[worker], into);
  }

  // Takes a packet for `worker`, or one that another worker has not got around to, waiting if
  // necessary. Returns false if all workers are waiting, so that there will be no more packets, or
  // if the work was abandoned.
  bool take(unsigned worker, Packet& into) {
    std::unique_lock lock(mutex_);
    if (is_abandoned()) return false;
    if (take_any(worker, into)) return true;
    ++waiting_;
    bool is_taken = false;
    changed_.wait(lock, [&] {
      is_taken = !is_abandoned() && take_any(worker, into);
      return is_taken || is_abandoned() || waiting_ == inboxes_.size();
    });
    if (!is_taken) {
      changed_.notify_all();
      return false;
    }
    --waiting_;
    return true;
  }

  // Makes take() return false for all workers, because one has failed.
  void abandon() {
    const std::lock_guard lock(mutex_);
    is_abandoned_.store(true, std::memory_order_relaxed);
    changed_.notify_all();
  }
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kMostPackets = 64;  // for one worker

  struct Inbox {
    std::deque<Packet> packets;
    std::atomic<std::size_t> size{0};  // size of `packets`, to be read without the lock
  };

  static bool take_from(Inbox& inbox, Packet& into) {
    if (inbox.packets.empty()) return false;
    into = std::move(inbox.packets.front());
    inbox.packets.pop_front();
    inbox.size.store(inbox.packets.size(), std::memory_order_relaxed);
    return true;
  }
  bool take_any(unsigned worker, Packet& into) {
    for (std::size_t i = 0; i < inboxes_.size(); ++i) {
      if (take_from(inboxes_[(worker + i) % inboxes_.size()], into)) return true;
    }
    return false;
  }

  std::atomic<unsigned> waiting_{0};
  std::atomic<bool> is_abandoned_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Inbox> inboxes_;  // by worker
};

}  // namespace heapattach::heap
