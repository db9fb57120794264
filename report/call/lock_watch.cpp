#include "report/call/lock_watch.h"

#include <chrono>
#include <csignal>
#include <optional>

#include <sys/syscall.h>

#include "attach/process/blocked_call.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetween{10};
constexpr std::chrono::milliseconds kStuck{250};
// Long enough to distinguish a wait that nothing can end from a page fault within the call.
constexpr std::chrono::milliseconds kStuckForGood{30};

// Where a thread waits for a lock. All zeros if it does not wait for one.
struct Place {
  std::uint64_t stack = 0;
  std::uint64_t instruction = 0;
  bool has_end = false;  // a timeout or another thread may end the wait

  bool operator==(const Place&) const = default;
};

Place place_of(const Process& copy) {
  constexpr std::size_t kTimeout = 3;
  const auto text = copy.read_file("syscall");
  const auto call = text ? parse_blocked_call(*text) : std::nullopt;
  if (!call || call->number != SYS_futex) return {};
  const auto threads = copy.list_threads();
  return {call->stack_pointer.value, call->instruction_pointer.value,
          call->arguments[kTimeout] != 0 || !threads || threads->tids.size() > 1};
}

}  // namespace

LockWatch::LockWatch(const Process& copy) : copy_(copy), thread_([this] { watch(); }) {}

LockWatch::~LockWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LockWatch::watch() {
  Place last;
  Clock::time_point since;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetween, [this] { return is_over_; })) {
    const Place place = place_of(copy_);
    const auto now = Clock::now();
    if (place == Place{} || place != last) {
      last = place;
      since = now;
    } else if (now - since >= (place.has_end ? kStuck : kStuckForGood)) {
      has_ended_it_ = true;
      ::kill(copy_.pid(), SIGKILL);
      return;
    }
  }
}

}  // namespace heapattach
