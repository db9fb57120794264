#pragma once

#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/arch/registers.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// The system calls that a function in a clone may make. A list of forbidden calls would never be
// complete: there is always one more call that affects another process. So we allow only what a
// dump routine, an interpreter and the loader need: memory, time, their own threads, opening files
// for reading, and writing to open files.
struct CallRules {
  pid_t self = 0;             // the clone's pid, as the clone sees it
  std::vector<int> beyond;    // extra system calls that the user allows, by number
  std::vector<Range> shared;  // memory shared with other processes that must stay read-only
  bool has_landlock = false;  // the kernel then checks again which file is opened
};

// Answers the rules' questions about the clone's files.
class CalledFiles {
 public:
  struct OpenFile {
    bool is_open = false;
    bool is_writable = false;
    bool is_harmless = false;  // whether opening it again for reading affects nobody
  };
  CalledFiles(const CalledFiles&) = delete;
  CalledFiles& operator=(const CalledFiles&) = delete;
  virtual ~CalledFiles() = default;

  // Whether opening this path for reading affects nobody. False for a FIFO, a socket, a terminal,
  // another device whose input somebody would miss, and a link to a file that another process has
  // open. True if there is no such file. `directory` is a descriptor, or AT_FDCWD.
  [[nodiscard]] virtual bool is_harmless(int directory,
                                         const std::string& path,
                                         bool follows) const = 0;
  [[nodiscard]] virtual OpenFile descriptor(int number) const = 0;

 protected:
  CalledFiles() = default;
};

// The system calls that are allowed with any arguments.
[[nodiscard]] std::span<const int> free_calls();

// The facts about a stopped clone on which the rules depend.
struct CallingClone {
  const MemoryReader& memory;
  const CalledFiles& files;
  bool has_other_threads = false;
};

// Whether a call that is not in free_calls() is allowed with the arguments in these registers.
// Another thread of the clone may change a path between this check and the kernel's use of it.
// Landlock then prevents writing; without Landlock, a clone with several threads opens nothing for
// writing. Nothing prevents reading (HAZARDS D12).
[[nodiscard]] bool is_allowed(const CallRules& rules,
                              const RawRegisters& at,
                              const CallingClone& clone);

// Whether another process may use a futex of this call. The kernel identifies a shared futex by
// file and offset, so a read-only private mapping of a file has the same futexes as the file. (In a
// writable mapping, the kernel first gives the clone its own copy of the page.) FUTEX_PRIVATE_FLAG
// makes such a futex the clone's own. A futex in anonymous memory does not need the flag and must
// not get it, because the kernel wakes whoever joins a thread without the flag.
[[nodiscard]] bool may_be_shared_futex(const RawRegisters& at, const MemoryMap& map);

}  // namespace heapattach
