#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "attach/process/process.h"
#include "inject/clone_call.h"
#include "report/call/function_call.h"
#include "symbols/elf/module.h"
#include "symbols/ruby/interpreter.h"
#include "symbols/ruby/machine.h"

// Runs Ruby code in a copy of a Ruby process.
//
// A copy has only one thread, and Ruby code needs Ruby's lock: only one thread runs Ruby code at a
// time. So the choice of the thread matters. A thread that has the lock, or waits without having
// properly released it (as in sleep), evaluates the code at once. A thread in a blocking call takes
// the lock first, and gets it unless it was held by a thread that is not in the copy. In that case
// the next thread is tried, in another copy. Running threads are tried first.
//
// Since 3.3, a thread that releases the lock hands it to the next one that waits for it. The queue
// is emptied in the copy, where these threads do not exist.
//
// No code can run in the middle of a collection. Ruby reports whether one is in progress, and so
// does its memory, before a copy is made. If so, or if the copy crashes or does not answer, we try
// again later, until the deadline or until it is clear that nothing in the process moves.
namespace heapattach {

// The process that is copied.
struct RubyProcess {
  const Process& process;
  const MemoryReader& memory;
  const ruby::Interpreter& ruby;
  const ruby::Machine* machine = nullptr;  // null: the heap cannot be read from outside
};

// Generates the code, which writes its result to a descriptor of the copy: a path to it would need
// /proc, which a container may lack.
using RubyCode = std::function<std::string(int descriptor)>;

struct RubyAnswer {
  bool is_done = false;                               // the code ran to completion
  std::string output;                                 // what the code wrote to standard output
  std::string errors;                                 // what the code wrote to standard error
  std::chrono::duration<double, std::milli> pause{};  // how long the target was stopped
  pid_t thread = 0;                                   // the thread in the copy
  unsigned attempts = 0;                              // number of copies made
  unsigned exceptions = 0;      // number of copies in which the code raised an exception
  bool has_ended_copy = false;  // the code did not return, and the receiver took that as its result
};

// Receives what the code writes to its descriptor. Every attempt starts from the beginning.
struct RubyReceiver {
  std::function<Result<void>()> begin;
  std::function<Result<void>(std::string_view)> take;
  // Called after the last piece, while no other process of ours is being started. Returns true if
  // the result is complete.
  std::function<bool()> end;
  // Returns whether the standard error of a copy shows that every other copy would fail, too. May
  // be empty.
  std::function<bool(std::string_view errors)> is_final{};
  // Whether there is another way to get the result. Then copies that fail are given up earlier.
  bool has_alternative = false;
  // Returns whether to accept the end of a copy in place of a result: code that ends its process,
  // or never ends, does so in every copy. May be empty.
  std::function<bool(const CallOutcome& outcome)> takes_end{};
};

// Ignores the place and the function in `options`; uses the thread only if the user chose it.
// Fails, with the reasons from all attempts, if none produced a complete result before the
// deadline.
Result<RubyAnswer> run_ruby(const CallOptions& options,
                            const RubyProcess& process,
                            const RubyCode& code,
                            const RubyReceiver& receiver);

}  // namespace heapattach
