#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "attach/process.h"
#include "report/call/function_call.h"
#include "symbols/elf/module.h"
#include "symbols/ruby/interpreter.h"

// Runs Ruby code in a copy of a Ruby process.
//
// A copy has one thread, and Ruby code needs Ruby's lock: of all threads one runs Ruby code at a
// time. So the thread matters. One that has the lock, or waits without having given it up properly
// (sleep does), evaluates the code at once. Another one, which is in a blocking call, takes the
// lock first, and gets it unless a thread held it that is not in the copy. Then the next thread is
// tried, in a copy of its own; those that are running come first.
//
// No code can run in the midst of a collection. Ruby says whether there is one; then, and when the
// copy crashes or does not answer, another moment is tried, until the deadline.
namespace heapattach {

// The texts that the code is made of: `PATH` is where it writes its result.
using RubyCode = std::function<std::string(const std::string& path)>;

struct RubyAnswer {
  bool is_done = false;  // the code ran to its end
  std::string output;    // what it wrote to standard output and error
  std::string errors;
  std::chrono::duration<double, std::milli> pause{};  // how long the target was held
  pid_t thread = 0;                                   // whose copy it was
  unsigned attempts = 0;                              // copies that were made
  unsigned exceptions = 0;  // of these, how many ended in an exception of the code itself
};

// Receives what the code writes to its path. Every attempt begins anew.
struct RubyReceiver {
  std::function<Result<void>()> begin;
  std::function<Result<void>(std::string_view)> take;
  // After the last piece, while no other process of ours begins. True: the result is whole.
  std::function<bool()> end;
};

// Of `options`, the place, the thread and the function are not used, except a thread that the user
// chose. An error, with the reasons of the attempts, if none gave a whole result before the
// deadline.
Result<RubyAnswer> run_ruby(const CallOptions& options,
                            const Process& process,
                            const ruby::Interpreter& ruby,
                            const RubyCode& code,
                            const RubyReceiver& receiver);

}  // namespace heapattach
