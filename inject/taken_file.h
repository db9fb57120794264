#pragma once

#include <string_view>

#include <sys/types.h>

#include "attach/process/process.h"

// Takes files that a process has just made for us from its descriptor table. Other processes that
// are not stopped may share that table (CLONE_FILES): at any moment they can put another file under
// the number, even one that only we may open. So we open the number without any rights (O_PATH),
// check that it is the file that was made, and reopen this file through our own descriptor. Nothing
// is opened for writing before that check.
namespace heapattach {

// A file that a thread has just opened, and the number of its descriptor.
struct MadeFile {
  pid_t thread = 0;
  int number = -1;
};

// Takes an empty memfd of this name, which has no links and belongs to the thread's user. Returns
// Impossible if anything else is there. `flags` are those of open(2).
Result<Fd> take_memory(const Process& process, MadeFile made, std::string_view name, int flags);

// Takes the reading end of an unnamed pipe.
Result<Fd> take_pipe(const Process& process, int number);

// Whether the process still has `file` open as descriptor `number`.
[[nodiscard]] bool is_still_there(const Process& process, int number, const Fd& file);

// Fixes the size of a memfd at `bytes` for good, so that no other owner can shorten it: touching
// memory beyond its end would kill us (SIGBUS). Returns Impossible if it has already been sealed.
Result<void> fix_size(const Fd& memory, std::uint64_t bytes);

}  // namespace heapattach
