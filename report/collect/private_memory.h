#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/collect/target.h"

// For heaps that the program frees by hand, such as malloc's: all private memory is copied while
// the target is held, and the heaps are found in the copy afterwards.
namespace heapattach::snapshot {

struct PrivateMemory {
  std::vector<Range> ranges;     // sorted
  std::vector<Range> touched;    // the parts of them that have contents, sorted; the rest is zero
  std::vector<Range> forbidden;  // further parts with contents, which only /proc/<pid>/mem shows
  // The parts in mappings that are no longer writable, those of modules first.
  std::vector<Range> read_only;
  std::vector<std::string> unread;  // descriptions of omitted parts, with the reasons
};

// Larger mappings are not copied: a sanitizer or a database has reserved them and uses little of
// them.
constexpr std::uint64_t kLargestMapping = std::uint64_t{256} << 30;

// Finds the memory to copy: all private memory that is writable or was once written to, and
// generated code. Untouched pages are not copied, except from a core file.
PrivateMemory plan_private_copy(const Target& target, const Process* process, const MemoryMap& map);

// Notes the memory that a clone of the process does not have (madvise(2): MADV_DONTFORK,
// MADV_WIPEONFORK).
void note_uncopied(const Process& process, PrivateMemory& copy);

// The resident memory of the process; nothing for a core file.
std::optional<std::uint64_t> resident_bytes(const Target& target);
// The resident memory of a process that no file backs; nothing if the kernel does not report it.
std::optional<std::uint64_t> anonymous_bytes(const Process& process);
// The resident and the swapped memory of the process; the largest number if that is unknown.
std::uint64_t most_used_bytes(const Target& target);

// The pages of a range that are present or swapped.
Result<std::vector<Range>> present_parts(const Process& process, Range range);

// The parts of `ranges` (sorted, disjoint) that have contents. A small range is taken as a whole.
Result<std::vector<Range>> touched_parts(const Process& process,
                                         std::span<const Range> ranges,
                                         std::chrono::steady_clock::time_point deadline);

}  // namespace heapattach::snapshot
