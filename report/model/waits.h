#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include "attach/base/remote_addr.h"

// Describes what fibers and threads wait for, as plain values.
namespace heapattach::snapshot {

enum class WaitKind : std::uint8_t {
  Unknown,
  Running,     // on a thread
  Scheduling,  // belongs to the scheduler: looks for fibers that can run, or watches running ones
  Ready,       // it has yielded to others
  NotStarted,
  Ended,  // a thread is still looking for another fiber on its stack
  Receive,
  Send,
  Channel,  // one of the two
  Select,
  Mutex,
  Condition,  // a condition variable
  WaitGroup,
  Once,        // for another fiber to initialize a constant or class variable
  Descriptor,  // for others to finish using an IO
  Context,     // the end of an isolated context
  Process,     // the end of a process
  Thread,      // the end of a thread; blocks its own
  Resolve,     // a host's address; blocks its thread
  Io,          // one of the next four
  Read,
  Write,
  Accept,
  Connect,
  Sleep,
  SleepForever,
};

// The detail that ends the words for a wait.
enum class WaitsFor : std::uint8_t {
  Nothing,
  Object,      // FiberWait::object
  Descriptor,  // FiberWait::descriptor
  Process,     // FiberWait::process
};

// Facts about each kind of wait. A new kind is an enumerator and its row below; the code that shows
// it has a row in report/stacks/wait_signs.cpp.
struct WaitKindRow {
  WaitKind kind{};
  std::string_view key;    // in records and reports
  std::string_view words;  // for people
  WaitsFor waits_for = WaitsFor::Nothing;
  std::string_view what{};                  // the words for what it waits for, if that is unknown
  bool needs_another_fiber = false;         // only another fiber can end the wait
  bool is_listed = false;                   // the object has a list of the fibers that wait for it
  std::string_view list{};                  // the field with that list begins with this; empty: any
  bool is_io = false;                       // the object is an IO
  bool is_reading = false;                  // from an IO
  std::array<std::string_view, 5> types{};  // of the object; "Channel(" begins with it
};

inline constexpr std::array<WaitKindRow, 26> kWaitKinds{{
    {.kind = WaitKind::Unknown, .key = "unknown", .words = "is suspended; the reason is unknown"},
    {.kind = WaitKind::Running, .key = "running", .words = "runs"},
    {.kind = WaitKind::Scheduling, .key = "scheduling", .words = "serves the scheduler"},
    {.kind = WaitKind::Ready, .key = "ready", .words = "is ready to run"},
    {.kind = WaitKind::NotStarted, .key = "not started", .words = "has not run yet"},
    {.kind = WaitKind::Ended, .key = "ended", .words = "has ended"},
    {.kind = WaitKind::Receive,
     .key = "receive",
     .words = "waits to receive from ",
     .waits_for = WaitsFor::Object,
     .what = "a channel",
     .needs_another_fiber = true,
     .is_listed = true,
     .list = "@receivers",
     .types = {"Channel("}},
    {.kind = WaitKind::Send,
     .key = "send",
     .words = "waits to send to ",
     .waits_for = WaitsFor::Object,
     .what = "a channel",
     .needs_another_fiber = true,
     .is_listed = true,
     .list = "@senders",
     .types = {"Channel("}},
    {.kind = WaitKind::Channel,
     .key = "channel",
     .words = "waits for ",
     .waits_for = WaitsFor::Object,
     .what = "a channel",
     .needs_another_fiber = true,
     .is_listed = true,
     .types = {"Channel("}},
    {.kind = WaitKind::Select,
     .key = "select",
     .words = "waits for one of several channels",
     .needs_another_fiber = true},
    {.kind = WaitKind::Mutex,
     .key = "mutex",
     .words = "waits for ",
     .waits_for = WaitsFor::Object,
     .what = "a mutex",
     .needs_another_fiber = true,
     .is_listed = true,
     .types = {"Mutex", "Sync::Mutex", "Sync::RWLock", "Sync::Exclusive(", "Sync::Shared("}},
    {.kind = WaitKind::Condition,
     .key = "condition",
     .words = "waits for ",
     .waits_for = WaitsFor::Object,
     .what = "a condition variable",
     .needs_another_fiber = true,
     .is_listed = true,
     .types = {"Sync::ConditionVariable"}},
    {.kind = WaitKind::WaitGroup,
     .key = "wait group",
     .words = "waits for ",
     .waits_for = WaitsFor::Object,
     .what = "a WaitGroup",
     .needs_another_fiber = true,
     .is_listed = true,
     .types = {"WaitGroup"}},
    {.kind = WaitKind::Once,
     .key = "once",
     .words = "waits for another fiber to initialize a constant or variable",
     .needs_another_fiber = true},
    {.kind = WaitKind::Descriptor,
     .key = "descriptor",
     .words = "waits for others to finish with ",
     .waits_for = WaitsFor::Descriptor,
     .needs_another_fiber = true},
    {.kind = WaitKind::Context,
     .key = "context",
     .words = "waits for the end of ",
     .waits_for = WaitsFor::Object,
     .what = "an isolated context",
     .needs_another_fiber = true,
     .types = {"Fiber::ExecutionContext::Isolated"}},
    {.kind = WaitKind::Process,
     .key = "process",
     .words = "waits for the end of ",
     .waits_for = WaitsFor::Process,
     .what = "a process"},
    {.kind = WaitKind::Thread,
     .key = "thread",
     .words = "waits for the end of a thread, and blocks its own"},
    {.kind = WaitKind::Resolve,
     .key = "resolve",
     .words = "looks up a host's address, and blocks its thread"},
    {.kind = WaitKind::Io,
     .key = "io",
     .words = "waits for ",
     .waits_for = WaitsFor::Descriptor,
     .is_io = true},
    {.kind = WaitKind::Read,
     .key = "read",
     .words = "waits to read from ",
     .waits_for = WaitsFor::Descriptor,
     .is_io = true,
     .is_reading = true},
    {.kind = WaitKind::Write,
     .key = "write",
     .words = "waits to write to ",
     .waits_for = WaitsFor::Descriptor,
     .is_io = true},
    {.kind = WaitKind::Accept,
     .key = "accept",
     .words = "waits for a connection to ",
     .waits_for = WaitsFor::Descriptor,
     .is_io = true,
     .is_reading = true},
    {.kind = WaitKind::Connect,
     .key = "connect",
     .words = "waits to be connected, ",
     .waits_for = WaitsFor::Descriptor,
     .is_io = true},
    {.kind = WaitKind::Sleep, .key = "sleep", .words = "sleeps"},
    {.kind = WaitKind::SleepForever, .key = "sleep forever", .words = "sleeps forever"},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kWaitKinds.size(); ++i) {
        if (kWaitKinds[i].kind != static_cast<WaitKind>(i)) return false;
      }
      return true;
    }(),
    "the rows are in the order of the enumerators");

inline constexpr auto kWaitWords = [] {
  std::array<std::pair<std::string_view, WaitKind>, kWaitKinds.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = {kWaitKinds[i].key, kWaitKinds[i].kind};
  return words;
}();

[[nodiscard]] constexpr const WaitKindRow& wait_kind(WaitKind kind) {
  return kWaitKinds[static_cast<std::size_t>(kind)];
}

// The wait of a fiber: its kind, and its object.
struct FiberWait {
  WaitKind kind = WaitKind::Unknown;
  RemoteAddr object;       // the channel, mutex or IO; 0: unknown
  std::string type;        // of the object
  std::string holder;      // the variable or field that holds it: "Blog::LOCK", "Account@lock"
  std::string descriptor;  // "7: TCP 127.0.0.1:80 listening"
  std::optional<std::size_t> owner;               // the fiber that owns the mutex
  std::optional<std::chrono::milliseconds> left;  // of a sleep, or of a wait with a limit
  bool may_have_limit = false;                    // it is unknown whether it has one
  std::optional<pid_t> process;                   // the process that it waits for
  bool is_lossy = false;  // a text in its record was changed before it was read
};

enum class ThreadWaitKind : std::uint8_t {
  Mutex,  // or a lock of an unknown kind
  ReadWriteLock,
  ObjectLock,  // of Mono's System.Threading.Monitor
  Pulse,       // of an object, in Monitor.Wait; another thread may have its lock
  Signal,      // of a WaitHandle of Mono
  End,         // the end of a thread
};

// What reports say about each kind of a thread's wait. A new kind is an enumerator and its row
// below, and report/stacks/scene.cpp gives it to the threads that wait so.
struct ThreadWaitRow {
  ThreadWaitKind kind{};
  std::string_view words;       // for a lock without a name, after "a"
  bool is_held = false;         // by ThreadWait::thread; it waits for that thread's end otherwise
  std::string_view of{};        // the beginning of ThreadWait::mutex, before the object
  std::string_view function{};  // remarks count the threads in it that wait for the same object;
                                // empty: they do not, because idle threads wait so
};

inline constexpr std::array<ThreadWaitRow, 6> kThreadWaits{{
    {.kind = ThreadWaitKind::Mutex, .words = "mutex", .is_held = true},
    {.kind = ThreadWaitKind::ReadWriteLock, .words = "read-write lock", .is_held = true},
    {.kind = ThreadWaitKind::ObjectLock, .words = "lock", .is_held = true, .of = "the lock of "},
    {.kind = ThreadWaitKind::Pulse,
     .words = "pulse",
     .of = "a pulse of ",
     .function = "Monitor.Wait"},
    {.kind = ThreadWaitKind::Signal, .words = "signal", .of = "a signal of "},
    {.kind = ThreadWaitKind::End, .words = "thread"},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kThreadWaits.size(); ++i) {
        if (kThreadWaits[i].kind != static_cast<ThreadWaitKind>(i)) return false;
      }
      return true;
    }(),
    "the rows are in the order of the enumerators");

[[nodiscard]] constexpr const ThreadWaitRow& thread_wait(ThreadWaitKind kind) {
  return kThreadWaits[static_cast<std::size_t>(kind)];
}

// The kind of a saved wait, whose record has only ThreadWait::mutex.
[[nodiscard]] constexpr ThreadWaitKind thread_wait_of(std::string_view mutex) {
  for (const ThreadWaitRow& row : kThreadWaits) {
    if (!row.of.empty() && mutex.starts_with(row.of)) return row.kind;
  }
  return ThreadWaitKind::Mutex;
}

// The wait of a thread.
struct ThreadWait {
  std::string call;                   // "read(5: pipe)"; empty: not in a system call
  std::optional<std::size_t> thread;  // the owner of what it waits for, or one whose end it awaits
  ThreadWaitKind kind = ThreadWaitKind::Mutex;
  // What it waits for: the name of a variable, "Mutex 0x7f12a0", or, if the kind's row has `of`,
  // that and an object: "a pulse of Game.Queue 0x7f12a0". Empty: unknown.
  std::string mutex;
  bool is_lossy = false;  // as for a fiber

  [[nodiscard]] bool is_known() const { return !call.empty() || thread || !mutex.empty(); }
  [[nodiscard]] bool is_for_owner() const { return thread && thread_wait(kind).is_held; }
  // For something that another thread may do with an object that no thread holds.
  [[nodiscard]] bool is_for_event() const {
    return !thread_wait(kind).of.empty() && !thread_wait(kind).is_held;
  }
};

}  // namespace heapattach::snapshot
