// Allocators have names in a program with symbols. A stripped one reaches those of a shared
// collector through stubs (which jump to a slot that holds the function's address in the target)
// and through the runtime's own wrappers. If it is also linked statically, only the use of their
// results shows its allocators.

#include "symbols/crystal/allocator_entries.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace heapattach::crystal {
namespace {

constexpr std::array<std::pair<std::string_view, Allocator>, 10> kAllocators = {{
    {"__crystal_malloc", Allocator::Normal},
    {"__crystal_malloc64", Allocator::Normal},
    {"__crystal_malloc_atomic", Allocator::Atomic},
    {"__crystal_malloc_atomic64", Allocator::Atomic},
    {"GC_malloc", Allocator::Normal},
    {"GC_malloc_atomic", Allocator::Atomic},
    {"GC_malloc_ignore_off_page", Allocator::Normal},
    {"GC_malloc_atomic_ignore_off_page", Allocator::Atomic},
    {"*GC::malloc<UInt64>:Pointer(Void)", Allocator::Normal},
    {"*GC::malloc_atomic<UInt64>:Pointer(Void)", Allocator::Atomic},
}};

AllocatorEntries named_allocators(const Modules& modules) {
  AllocatorEntries entries;
  for (const auto& [name, allocator] : kAllocators) {
    if (const auto symbol = modules.find_symbol(name)) entries[symbol->address.value] = allocator;
  }
  return entries;
}

// The words of the program that hold the address of an allocator: its slots for calls.
AllocatorEntries find_slots(const Module& program,
                            const MemoryReader& memory,
                            const AllocatorEntries& entries) {
  constexpr std::uint64_t kMostBytes = 256U << 10U;
  AllocatorEntries slots;
  for (const Segment& segment : program.segments()) {
    if (!segment.writable || segment.executable) continue;
    std::vector<std::uint64_t> words(std::min(segment.range.bytes, kMostBytes) / 8);
    const auto bytes = std::as_writable_bytes(std::span(words));
    if (words.empty() || !memory.read(segment.range.start, bytes).has_value()) continue;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto entry = entries.find(words[i]);
      if (entry != entries.end()) slots[segment.range.start.value + i * 8] = entry->second;
    }
  }
  return slots;
}

}  // namespace

AllocatorEntries find_allocators(const Modules& modules,
                                 const Module& program,
                                 const std::vector<Code>& code,
                                 const MemoryReader& memory) {
  AllocatorEntries entries = named_allocators(modules);
  const AllocatorEntries slots = find_slots(program, memory, entries);
  for (const Code& piece : code) add_stubs(piece, slots, entries);
  constexpr int kDeepestWrapper = 4;
  for (int depth = 0; depth < kDeepestWrapper; ++depth) {
    bool is_more = false;
    for (const Code& piece : code) is_more = add_wrappers(piece, entries) || is_more;
    if (!is_more) break;
  }
  return entries;
}

}  // namespace heapattach::crystal
