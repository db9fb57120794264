#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "symbols/ruby/machine.h"

// Reads what Ruby's threads execute from their control frames, while the process is held. Runs no
// code in it. The innermost line of a running thread may be that of its last call, because the
// interpreter keeps its position in a register.
namespace heapattach::ruby {

struct Frame {
  std::string function;    // as Ruby prints it: "block in work", "sleep"; empty: unknown
  std::string file;        // for a C function, its caller's; empty: unknown
  std::uint32_t line = 0;  // 0: unknown
  bool is_native = false;  // a C function
  std::string owner;       // the class or module of a method of Ruby's own, if it has a name
  Value self = 0;

  // Whether the frame is Ruby code of the interpreter itself. Queue#pop, for instance, is a C
  // function in 3.1 and such a method later.
  [[nodiscard]] bool is_internal() const { return file.starts_with("<internal:"); }
};

struct FiberStack {
  std::uint64_t fiber = 0;         // its rb_fiber_t; 0: unknown
  std::vector<Frame> frames;       // innermost first
  std::uint64_t left_out = 0;      // frames left out in the middle of a very deep stack
  std::size_t left_out_after = 0;  // after this many of `frames`
  bool is_whole = true;            // false: the rest could not be read
};

struct Thread {
  std::uint64_t address = 0;  // of its rb_thread_t
  std::uint64_t ractor = 0;   // of its rb_ractor_t
  Value object = 0;
  pid_t tid = 0;                // in its own pid namespace; of a child of fork, that of its parent
  std::optional<pid_t> native;  // the NativeThread that executes it
  std::string name;
  bool is_main = false;
  bool has_lock = false;     // Ruby's lock, which lets a thread run Ruby code; one per ractor
  bool wants_lock = false;   // it is in the queue for that lock
  bool is_blocking = false;  // it released the lock for a call that may take long
  Value mutex = 0;           // the Mutex that it waits for; 0: none
  std::optional<std::size_t> mutex_owner;  // index of the thread that holds it
  std::uint64_t mutex_fiber = 0;           // the fiber of that thread; 0: unknown
  std::optional<int> descriptor;           // the descriptor that it waits for
  // The fiber that it executes, then the one that resumed it, and so on.
  std::vector<FiberStack> fibers;
  std::vector<FiberStack> suspended;  // its other fibers that began and have not ended
};

// A thread of the process, identified by its pthread_t, which is the address in its thread
// register. Ruby keeps it, too. Unlike the thread's number, it does not change in the child of a
// fork.
struct NativeThread {
  std::uint64_t pointer = 0;
  pid_t tid = 0;
};

struct Threads {
  std::vector<Thread> all;
  std::uint64_t unread_fibers = 0;  // candidates that were not read for lack of time
};

// Reads all threads of all ractors, and finds which of `natives` executes each. `fibers` are
// objects that may be fibers (heap_pages.h). Until `fibers_until`, assigns the fibers among them to
// their threads. Fails with Malformed if the threads are inconsistent.
Result<Threads> read_threads(const Machine& machine,
                             const MemoryReader& memory,
                             std::span<const NativeThread> natives = {},
                             std::span<const Value> fibers = {},
                             std::chrono::steady_clock::time_point fibers_until =
                                 std::chrono::steady_clock::time_point::max());

}  // namespace heapattach::ruby
