#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/stacks/stack_report.h"

// Sentences about threads, fibers and stacks, which all reports on stacks for people share.
namespace heapattach {

// Why a stack is not whole; empty if it is.
[[nodiscard]] std::string_view words_for_end(unwind::StackEnd end);

// How the process was read, and what is therefore missing: "paused for 0.6 ms".
[[nodiscard]] std::string words_for_source(const stacks::StackReport& report);

// The state of a thread and its system call: "sleeping in epoll_wait(4) [ep_poll]". Without states,
// as in a core file, "in epoll_wait(4)"; empty if nothing is known.
[[nodiscard]] std::string words_for_wait(const stacks::StackReport& report,
                                         const stacks::ThreadSeen& thread);

// Facts about a thread, a line each, in two parts: those before the lines about its Ruby thread,
// and all others, such as the lock that it waits for and the fiber that it runs.
struct ThreadNotes {
  std::vector<std::string> about_itself;
  std::vector<std::string> others;
};
[[nodiscard]] ThreadNotes notes_on(const stacks::StackReport& report,
                                   const stacks::ThreadSeen& thread);

// "main Ruby thread "worker" waits for Mutex 0x7f…, which thread 4712 holds".
[[nodiscard]] std::string title_of(const stacks::RubySeen& ruby);

// The names of a group's first fibers: "\"worker-0\", \"worker-1\", \"worker-2\", …".
[[nodiscard]] std::string names_of(const stacks::StackReport& report,
                                   const stacks::FiberGroup& group);

// Fibers of a group that wait alike. Their words may have several times: "sleeps, 0.1 to 60.0 s
// left".
struct AlikeWaits {
  std::size_t fibers = 0;
  std::string words;
};

// The waits of a group's fibers, those of most fibers first.
[[nodiscard]] std::vector<AlikeWaits> waits_of(const stacks::StackReport& report,
                                               const stacks::FiberGroup& group);

}  // namespace heapattach
