#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/remote_addr.h"
#include "report/model/waits.h"
#include "symbols/unwind/stack_record.h"

// What --stacks found, as plain values: made by take_stacks(), read by the writers of its formats.
namespace heapattach::stacks {

// A function of a stack. Inlined ones have the instruction of the one that has code.
struct NamedFrame {
  std::string function;  // empty: not known
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool is_inlined = false;  // into the next one
  RemoteAddr pc;
  std::string module;        // empty: in none
  std::uint64_t offset = 0;  // in the module's file
  unwind::FoundBy found_by = unwind::FoundBy::Registers;
  bool is_own = false;  // of the program itself, not of a library
};

struct NamedStack {
  std::vector<NamedFrame> frames;   // the innermost first
  std::uint64_t left_out = 0;       // in the middle of very deep ones,
  std::size_t left_out_behind = 0;  // behind so many of the above
  unwind::StackEnd end = unwind::StackEnd::Outermost;
};

struct ThreadSeen {
  pid_t tid = 0;
  pid_t tid_in_target = 0;  // in its own pid namespace
  std::string name;
  char state = '?';
  std::string wait_channel;
  std::string call;  // "read(5: pipe)"; empty: in none
  std::chrono::nanoseconds processor_time{};
  // Of a processor, in the time that was looked at; none if it could not be told.
  std::optional<double> load;
  bool is_busy = false;  // it had a processor, or waited for one, each time that it was looked at
  bool is_readable = true;               // false: it could not be stopped, and has no stack here
  std::optional<std::size_t> waits_for;  // the thread that owns the mutex that it waits for
  std::string awaited;                   // the name of that mutex; empty: not known
  std::string function;                  // of the program, in which it is
  std::optional<std::size_t> fiber;      // that is on it
  bool is_idle = false;                  // that fiber waits; the thread looks for another one
  std::optional<std::size_t> finding;    // of the report's findings: one that it is part of
  NamedStack stack;
};

using snapshot::FiberWait;
using snapshot::WaitKind;

struct FiberSeen {
  RemoteAddr address;
  std::string name;
  bool is_of_runtime = false;         // what every Crystal program has
  bool is_own = true;                 // runs code of the program, and not the library's alone
  std::string context;                // the execution context that it is of; empty: not known
  std::string of_thread;              // whose own fiber it is: "4711 SYSMON"; empty: of none
  std::optional<std::size_t> thread;  // that it is on
  std::string function;               // of the program, in which it is: "Blog.publish (blog.cr:34)"
  FiberWait wait;
  std::optional<std::size_t> finding;  // as a thread's
};

// Fibers with the same stack.
struct FiberGroup {
  std::vector<std::size_t> fibers;
  NamedStack stack;
};

// What ended a process that a core file tells of.
struct CoreFacts {
  int signal = 0;  // 0: none; gcore leaves it running
  pid_t thread = 0;
};

struct StackReport {
  pid_t pid = 0;
  std::string exe;
  std::chrono::nanoseconds pause{};
  // Of a core file, which does not tell what the kernel knows of threads: their states, wait
  // channels and times, what descriptors are, and what time it was.
  std::optional<CoreFacts> core;
  // Signals whose handlers are the program's own, and may wake a fiber; none if that is not told.
  std::optional<std::uint64_t> caught_signals;
  std::vector<std::string> findings;  // what is wrong for sure, the worst first: one line each
  std::vector<std::string> remarks;   // what may be as it should: one line each
  std::vector<ThreadSeen> threads;
  std::vector<FiberSeen> fibers;
  std::vector<FiberGroup> groups;     // the largest first, the runtime's own last
  std::vector<std::string> warnings;  // what is missing, and why
  bool is_partial = false;            // of what is missing there would be more than names
};

// How a thread or fiber is called in a line of text: "thread 4711 worker", "fiber \"acceptor\"",
// "fiber \"main\" of thread 4712 SYSMON".
[[nodiscard]] std::string title_of(const ThreadSeen& thread);
[[nodiscard]] std::string title_of(const FiberSeen& fiber);
// The same without the word "fiber".
[[nodiscard]] std::string name_of(const FiberSeen& fiber);

// What a fiber waits for, as the end of a sentence: "waits to receive from Channel(Int32) 0x7f…".
[[nodiscard]] std::string describe_wait(const StackReport& report, const FiberWait& wait);

// The lock that a fiber waits for: by who holds it, "Blog::LOCK", else "Mutex 0x7f…".
[[nodiscard]] std::string describe_lock(const FiberWait& wait);

}  // namespace heapattach::stacks
