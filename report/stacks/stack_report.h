#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/remote_addr.h"
#include "report/model/model.h"
#include "symbols/ruby/threads.h"
#include "symbols/unwind/stack_record.h"

// The result of --stacks as plain values: made by take_stacks(), read by the writers of its
// formats.
namespace heapattach::stacks {

// A place in code as a snapshot has it, and whose code it is.
struct PlaceSeen : snapshot::Place {
  std::vector<bool> is_own{};  // of the program itself: each of `inlined`, then `at`
  bool may_be_own = false;     // in the program itself, but its function is unknown
};

// A function of a stack. Inlined ones have the instruction of the enclosing one.
struct NamedFrame {
  std::string function;  // empty: unknown
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool is_inlined = false;  // into the next one
  RemoteAddr pc;
  std::string module;        // empty: none
  std::uint64_t offset = 0;  // in the module's file
  unwind::FoundBy found_by = unwind::FoundBy::Registers;
  bool is_own = false;      // of the program itself, not of a library
  bool may_be_own = false;  // in the program itself, but its function is unknown
};

// A stack with one frame for each function, also for inlined ones.
struct NamedStack {
  std::vector<NamedFrame> frames;   // innermost first
  std::uint64_t left_out = 0;       // in the middle of a very deep stack,
  std::size_t left_out_behind = 0;  // after this many of those above
  unwind::StackEnd end = unwind::StackEnd::Outermost;
};

// A thread of Ruby's, in its own terms.
struct RubySeen {
  std::string name;
  bool is_main = false;
  std::string doing;  // "waits for Mutex 0x7f…, which thread 4712 holds"
  // The suspended fiber that holds the Mutex it waits for: "fiber 0x7f… (suspended in work
  // (shop.rb:12))"; empty: a fiber that is not suspended, or none.
  std::string mutex_fiber{};
  std::vector<ruby::FiberStack> fibers;     // as in ruby::Thread
  std::vector<ruby::FiberStack> suspended;  // as well
  std::uint64_t ractor = 0;                 // as well; not saved
};

// A thread as a snapshot has it, and what is not saved. Its stack is one of the report's.
struct ThreadSeen : snapshot::Thread {
  pid_t tid_in_target = 0;  // in its own pid namespace
  // The part of the stack in use that grows up to RLIMIT_STACK; 0 if it is another one, or unknown.
  std::uint64_t limited_stack_bytes = 0;
  std::string wait_channel;
  std::chrono::nanoseconds processor_time{};
  // The share of a processor used during the observation; nothing if unknown.
  std::optional<double> load;
  bool is_busy = false;       // it ran, or waited for a processor, at each observation
  bool is_readable = true;    // false: it could not be stopped, and has no stack here
  bool is_of_kernel = false;  // it runs no code of the program, and has no stack
  // The thread that ended without unlocking the lock that this one waits for; 0: none did.
  pid_t gone_owner = 0;
  // Only a thread of this process can end its wait for a futex, which has no time limit.
  bool needs_another_thread = false;
  std::optional<RubySeen> ruby{};
};

using snapshot::FiberWait;
using snapshot::WaitKind;

// A fiber as a snapshot has it. A group has its stack.
struct FiberSeen : snapshot::Fiber {
  bool is_own = true;  // runs code of the program, not only the library's
};

// Fibers with the same stack.
struct FiberGroup {
  std::vector<std::size_t> fibers;
  std::optional<std::uint32_t> stack;  // one of the report's
};

// The end of a process, as its core file shows it.
struct CoreFacts {
  int signal = 0;  // 0: none; gcore leaves it running
  pid_t thread = 0;
};

enum class StatementKind : std::uint8_t {
  Deadlock,  // nothing is left that could end a wait
  Busy,      // a thread that never yields the CPU
  LostLock,  // a lock whose owner has ended
  Waiting,   // any other wait, which may be normal
};

// What a report says about threads or fibers: one line.
struct Statement {
  StatementKind kind = StatementKind::Waiting;
  std::string text;  // that of a finding begins with its kind: "deadlock: …"

  bool operator==(const Statement&) const = default;
};

// Present if the report is of a saved snapshot: the time when that was taken.
struct SavedFacts {
  std::string captured;
};

struct StackReport {
  pid_t pid = 0;
  std::string exe;
  Attributes resource;  // as in the header of a snapshot
  std::chrono::nanoseconds pause{};
  // For a core file, which lacks the kernel's data about threads: states, wait channels and times;
  // and what descriptors are, and the time of day.
  std::optional<CoreFacts> core;
  // A snapshot has neither wait channels nor processor times, and observed the threads only once:
  // which of them are busy is unknown.
  std::optional<SavedFacts> saved{};
  // Signals whose handlers are the program's own, and may wake a fiber; none if unknown.
  std::optional<std::uint64_t> caught_signals;
  std::vector<Statement> findings;  // certain faults, worst first
  std::vector<Statement> remarks;   // possibly normal facts
  std::vector<ThreadSeen> threads;
  std::vector<FiberSeen> fibers;
  std::vector<FiberGroup> groups;  // largest first, the runtime's own last
  std::vector<snapshot::Stack> stacks;
  std::vector<PlaceSeen> places;      // of the frames in `stacks`
  std::vector<std::string> warnings;  // what is missing, and why
  bool is_partial = false;            // more than names is missing
};

// Statements as a snapshot has them, which has only their texts, and back.
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<Statement>& statements);
[[nodiscard]] std::vector<Statement> statements_of(const std::vector<std::string>& texts);

// The functions of one of the report's stacks; no frames if there is none.
[[nodiscard]] NamedStack named(const StackReport& report, std::optional<std::uint32_t> stack);

// "spin (spin.c:9)"; the function alone if its line is unknown.
[[nodiscard]] std::string function_at(std::string_view function,
                                      std::string_view file,
                                      std::uint32_t line);

// The name of a thread or fiber in a line of text: "thread 4711 worker", "fiber \"acceptor\"",
// "fiber \"main\" of thread 4712 SYSMON".
[[nodiscard]] std::string title_of(const snapshot::Thread& thread);
[[nodiscard]] std::string title_of(const snapshot::Fiber& fiber);
// The fiber's name without the word "fiber".
[[nodiscard]] std::string name_of(const snapshot::Fiber& fiber);

// The wait of a fiber, as the end of a sentence: "waits to receive from Channel(Int32) 0x7f…".
// `owner` is the fiber that owns the mutex; null if none is known.
[[nodiscard]] std::string describe_wait(const FiberWait& wait, const snapshot::Fiber* owner);
// The same for a wait of one of `fibers`: those of a report, or of a snapshot.
template <class Fibers>
std::string describe_wait(const Fibers& fibers, const FiberWait& wait) {
  const bool has_owner = wait.owner && *wait.owner < fibers.size();
  return describe_wait(wait, has_owner ? &fibers[*wait.owner] : nullptr);
}
// The same words for several fibers: "wait to receive from Channel(Int32) 0x7f…".
[[nodiscard]] std::string in_plural(std::string wait);

// The lock that a fiber waits for: by its holder, "Blog::LOCK", otherwise "Mutex 0x7f…".
[[nodiscard]] std::string describe_lock(const FiberWait& wait);

}  // namespace heapattach::stacks
