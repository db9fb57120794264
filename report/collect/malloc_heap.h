#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "report/collect/held_heap.h"

// Heaps that the program frees by hand, such as malloc's: all private memory is copied while the
// target is held, and the heaps are found in the copy afterwards.
namespace heapattach::snapshot {

// Larger mappings are not copied: they belong to a sanitizer, or a database has only reserved them.
constexpr std::uint64_t kLargestMapping = std::uint64_t{256} << 30;

// Finds the memory to copy: all private memory that is writable, or was when something was written
// to it. Untouched pages are not copied, except from a core file.
PrivateMemory plan_private_copy(const Target& target, const Process* process, const MemoryMap& map);

// Notes the memory that is missing from copies of a process (madvise(2): MADV_DONTFORK,
// MADV_WIPEONFORK).
void note_uncopied(const Process& process, PrivateMemory& copy);

// The copy, as the readers of heaps see it. Borrows `target` and `held`.
heap::Copied copied_of(const Target& target, const HeldHeap& held);

// Reads the heaps from the copy, with the roots of those that the program frees by hand. Call it
// when the target runs again.
Result<void> read_heaps(const Target& target, HeldHeap& held);

// The resident memory of the process; nothing for a core file.
std::optional<std::uint64_t> resident_bytes(const Target& target);
// The resident and the swapped memory of the process; the largest number if that is unknown.
std::uint64_t most_used_bytes(const Target& target);

// The parts of `ranges` (sorted, disjoint) that have contents; small ranges whole.
Result<std::vector<Range>> touched_parts(const Process& process,
                                         std::span<const Range> ranges,
                                         std::chrono::steady_clock::time_point deadline);

}  // namespace heapattach::snapshot
