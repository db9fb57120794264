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

// Their names in records and reports.
inline constexpr std::array<std::pair<std::string_view, WaitKind>, 26> kWaitWords{{
    {"unknown", WaitKind::Unknown},
    {"running", WaitKind::Running},
    {"scheduling", WaitKind::Scheduling},
    {"ready", WaitKind::Ready},
    {"not started", WaitKind::NotStarted},
    {"ended", WaitKind::Ended},
    {"receive", WaitKind::Receive},
    {"send", WaitKind::Send},
    {"channel", WaitKind::Channel},
    {"select", WaitKind::Select},
    {"mutex", WaitKind::Mutex},
    {"condition", WaitKind::Condition},
    {"wait group", WaitKind::WaitGroup},
    {"once", WaitKind::Once},
    {"descriptor", WaitKind::Descriptor},
    {"context", WaitKind::Context},
    {"process", WaitKind::Process},
    {"thread", WaitKind::Thread},
    {"resolve", WaitKind::Resolve},
    {"io", WaitKind::Io},
    {"read", WaitKind::Read},
    {"write", WaitKind::Write},
    {"accept", WaitKind::Accept},
    {"connect", WaitKind::Connect},
    {"sleep", WaitKind::Sleep},
    {"sleep forever", WaitKind::SleepForever},
}};

// What a fiber waits for.
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

// What a thread waits for.
struct ThreadWait {
  std::string call;                   // "read(5: pipe)"; empty: not in a system call
  std::optional<std::size_t> thread;  // the owner of the mutex that it waits for
  std::string mutex;                  // the name of that mutex; empty: unknown
  bool is_lossy = false;              // as for a fiber

  [[nodiscard]] bool is_known() const { return !call.empty() || thread || !mutex.empty(); }
};

}  // namespace heapattach::snapshot
