#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "symbols/ruby/machine.h"

// What Ruby's threads execute, read from their control frames while the process is held. Nothing
// runs in it. The line of the innermost frame of a thread that runs may be that of its last call:
// the interpreter keeps its position in a register.
namespace heapattach::ruby {

struct Frame {
  std::string function;    // as Ruby prints it: "block in work", "sleep"; empty: unknown
  std::string file;        // of a C function: where it is called; empty: unknown
  std::uint32_t line = 0;  // 0: unknown
  bool is_native = false;  // a C function
  std::string owner;       // of a method of Ruby's own: the class or module, if it has a name
  Value self = 0;

  // Ruby code that the interpreter brings along: what is a C function in one release, such as
  // Queue#pop in 3.1, is such a method in the next.
  [[nodiscard]] bool is_internal() const { return file.starts_with("<internal:"); }
};

struct FiberStack {
  std::uint64_t fiber = 0;         // its rb_fiber_t; 0: unknown
  std::vector<Frame> frames;       // innermost first
  std::uint64_t left_out = 0;      // in the middle of a very deep stack,
  std::size_t left_out_after = 0;  // after this many of those above
  bool is_whole = true;            // false: the rest could not be read
};

struct Thread {
  std::uint64_t address = 0;  // of its rb_thread_t
  Value object = 0;
  pid_t tid = 0;  // in its own pid namespace
  std::string name;
  bool is_main = false;
  bool has_lock = false;                   // Ruby's, which lets a thread run Ruby code
  bool is_blocking = false;                // it gave the lock up for a call that may take long
  Value mutex = 0;                         // that it waits for; 0: none
  std::optional<std::size_t> mutex_owner;  // of the threads
  std::optional<int> descriptor;           // that it waits for
  // The fiber that it executes, then the one that resumed that, and so on.
  std::vector<FiberStack> fibers;
  std::vector<FiberStack> suspended;  // of its other fibers, those that began and have not ended
};

struct Threads {
  std::vector<Thread> all;
  std::uint64_t unread_fibers = 0;  // candidates for which there was no time
};

// All threads of all ractors. `fibers` are objects that may be fibers (heap_pages.h); those that
// are are given to their threads, until `fibers_until`. Malformed if the threads are not in order:
// then nothing of them is known.
Result<Threads> read_threads(const Machine& machine,
                             const MemoryReader& memory,
                             std::span<const Value> fibers = {},
                             std::chrono::steady_clock::time_point fibers_until =
                                 std::chrono::steady_clock::time_point::max());

}  // namespace heapattach::ruby
