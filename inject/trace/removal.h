#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/stop/freeze.h"
#include "inject/remote_control.h"
#include "inject/trace/arch/layout.h"

namespace heapattach::trace {

// The name of the shared memory in the maps of the target, by which a later run finds it.
inline constexpr char kRingName[] = "heapattach-ring";

// The things that a trace has put into a process.
struct Remains {
  std::optional<BlobHead> head;  // nothing if its pages are not there
  Range code;                    // with the control pages
  Range ring;
  std::vector<int> files;  // descriptors that are still open in the process

  [[nodiscard]] bool is_any() const { return head || ring.bytes != 0 || !files.empty(); }
};
// find_mapped() finds the remains that are mapped. find_remains() finds the open files, too; it
// takes too long for a stop, because a process may have very many files.
Remains find_mapped(const MemoryMap& map, const MemoryReader& memory);
Remains find_remains(const Process& target, const MemoryMap& map, const MemoryReader& memory);

// The bytes of code and control pages of a blob.
[[nodiscard]] std::uint64_t blob_bytes();

// How a removal ended.
struct Removed {
  bool is_whole = true;                // nothing is left
  std::string why;                     // why something is left
  std::chrono::nanoseconds pause{};    // the longest stop
  std::chrono::nanoseconds stopped{};  // all stops together
};

// The things to remove.
struct RemovalOf {
  // The address of the code that may be removed: another run's stays. 0: no code, only `files`.
  std::optional<std::uint64_t> code = std::nullopt;  // nothing: any code that is found
  std::span<const int> files = {};
};
// Puts back the code of all entries and the handler. A tenth of a second later, or when no thread
// can return to it any more, unmaps the rest; waits some seconds for that. If a thread is in the
// code even then, or if the program itself may still call it, the code stays mapped, where it does
// nothing. While another process shares the memory, even the entries stay as they are, because that
// process is not stopped. Closes those of `files` that are ours. Waits for at most half of the time
// until the deadline, but for a second in any case.
Result<Removed> remove(const Process& target,
                       RemoteControl& control,
                       const Deadline& deadline,
                       const RemovalOf& what);

// Removes the remains of a killed run, with its open files. Returns Traced if a process still reads
// the ring: the kernel shows which processes map it, whatever the target's memory says.
Result<Removed> repair(const Process& target, RemoteControl& control, const Deadline& deadline);
// The same for reports that otherwise write nothing to the target.
Result<Removed> repair(const Process& target, const Deadline& deadline);

}  // namespace heapattach::trace
