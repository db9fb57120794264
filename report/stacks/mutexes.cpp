// A thread that waits for a mutex waits in the kernel for a futex: the mutex's first word. glibc
// (nptl/pthread_mutex_lock.c, struct __pthread_mutex_s): the word is 2 while others wait, the
// owner's number is 8 bytes after it and the kind 16. A mutex with priority inheritance, and one of
// musl that counts or checks (src/thread/pthread_mutex_trylock.c), has the owner's number in the
// futex itself, below two flags; a plain one of musl has no owner.
//
// A read-write lock (glibc's struct __pthread_rwlock_arch_t) has two futexes: readers wait for the
// one at 8, writers for that or for the one at 12. The number of the writer that holds it is at 24,
// and at 28 whether other processes use it. Readers that hold it are only counted.

#include "report/stacks/mutexes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <linux/futex.h>

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kOwner = 8;
constexpr std::uint64_t kKind = 16;
constexpr std::uint32_t kShared = 128;         // between processes
constexpr std::uint32_t kElision = 256 | 512;  // whether transactions may take it; no kind
constexpr std::uint32_t kContended = 2;
constexpr std::uint64_t kReadersFutex = 8;
constexpr std::uint64_t kWritersFutex = 12;
constexpr std::uint64_t kWriter = 24;
constexpr std::uint64_t kIsShared = 28;
constexpr std::int32_t kMostPid = 1 << 22;
constexpr std::size_t kInnermost = 8;

// The lock function that is among the innermost functions; empty if there is none.
std::string_view rwlock_function(const NamedStack& stack) {
  const std::size_t count = std::min(stack.frames.size(), kInnermost);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view function = stack.frames[i].function;
    if (function.find("pthread_rwlock") != std::string_view::npos) return function;
  }
  return {};
}

std::optional<LockOwner> writer_of(RemoteAddr futex,
                                   std::string_view function,
                                   const MemoryReader& capture) {
  const bool is_writer = function.find("wrlock") != std::string_view::npos;
  const bool is_reader = function.find("rdlock") != std::string_view::npos;
  if (!is_writer && !is_reader) return {};
  const RemoteAddr lock = futex - (is_writer ? kWritersFutex : kReadersFutex);
  const auto writer = capture.read_as<std::int32_t>(lock + kWriter);
  const auto is_shared = capture.read_as<std::uint32_t>(lock + kIsShared);
  if (!writer || !is_shared || *writer <= 0 || *writer > kMostPid) return {};
  return LockOwner{*writer, *is_shared == 0, lock, snapshot::ThreadWaitKind::ReadWriteLock};
}

bool names_mutex(const NamedFrame& frame) {
  return frame.function.find("mutex") != std::string::npos;
}

// Without names, the lock of a stream or of malloc looks like a mutex.
bool is_surely_mutex(const NamedStack& stack) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(stack.frames.size(), kInnermost));
  return std::any_of(stack.frames.begin(), stack.frames.begin() + count, names_mutex);
}

bool is_in_other_lock(const NamedStack& stack) {
  constexpr std::array<std::string_view, 6> kOthers = {"cond_",        "sem_",      "barrier",
                                                       "pthread_join", "clockjoin", "_once"};
  const std::size_t count = std::min(stack.frames.size(), kInnermost);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& function = stack.frames[i].function;
    if (names_mutex(stack.frames[i])) return false;
    const bool is_other = std::any_of(kOthers.begin(), kOthers.end(), [&](std::string_view name) {
      return function.find(name) != std::string::npos;
    });
    if (is_other) return true;
  }
  return false;
}

}  // namespace

std::optional<LockOwner> owner_of_awaited_lock(const SystemCall& call,
                                               const NamedStack& stack,
                                               const MemoryReader& capture) {
  const auto futex = awaited_futex(call);
  if (!futex) return {};
  if (const auto function = rwlock_function(stack); !function.empty()) {
    return writer_of(*futex, function, capture);
  }
  if (is_in_other_lock(stack)) return {};
  const auto word = capture.read_as<std::uint32_t>(*futex);
  if (!word) return {};
  const std::uint32_t in_word = *word & FUTEX_TID_MASK;
  if (in_word > kContended && (*word & FUTEX_WAITERS) != 0) {
    return LockOwner{static_cast<pid_t>(in_word), false, *futex};
  }
  if (*word != kContended) return {};
  const auto owner = capture.read_as<std::int32_t>(*futex + kOwner);
  if (!owner || *owner <= 0) return {};
  const auto kind = capture.read_as<std::uint32_t>(*futex + kKind);
  const bool is_private =
      is_surely_mutex(stack) && kind && (*kind & ~kElision) < kShared && *owner <= kMostPid;
  return LockOwner{*owner, is_private, *futex};
}

}  // namespace heapattach::stacks
