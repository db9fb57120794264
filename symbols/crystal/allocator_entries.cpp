// Allocators have names in a program with symbols. A stripped one reaches those of a shared
// collector through stubs (jmp *slot, the slot holds the function's address in the target) and
// through the runtime's own wrappers, which have one shape:
//
//     push %rax; [call UInt64.new; mov %rax,%rdi;] call <allocator>; pop %rcx; ret
//     jmp <allocator>                                             (in a --release build)
//
// If it is also linked statically, only the use of their results shows its allocators.

#include "symbols/crystal/allocator_entries.h"

#include <algorithm>
#include <array>
#include <optional>
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

// Stubs are "jmp *slot(%rip)" (ff 25), with or without endbr64 or bnd before it; mold also sets
// r11d.
void add_stubs(const Code& code, const AllocatorEntries& slots, AllocatorEntries& entries) {
  if (slots.empty()) return;
  each_opcode(code, 0x25, [&](std::size_t at) {
    if (at == 0 || byte_at(code.bytes, at - 1) != 0xff) return;
    const auto slot = slots.find(target_of_jump(code, at));
    if (slot == slots.end()) return;
    for (const std::size_t prefix : {1U, 2U, 5U, 6U, 7U, 11U}) {
      if (prefix <= at) entries[code.start.value + at - prefix] = slot->second;
    }
  });
}

// How many bytes a wrapper has before the call at `at`, or none if that is not a wrapper's call.
std::optional<std::size_t> wrapper_prefix(const Code& code, std::size_t at) {
  const auto is = [&](std::size_t where, std::uint8_t value) {
    return where < code.bytes.size() && byte_at(code.bytes, where) == value;
  };
  if (!is(at + 5, 0x59) || !is(at + 6, 0xc3)) return std::nullopt;
  std::optional<std::size_t> prefix;
  if (at >= 1 && is(at - 1, 0x50)) prefix = 1;
  const bool converts = at >= 9 && is(at - 9, 0x50) && is(at - 8, 0xe8) && is(at - 3, 0x48) &&
                        is(at - 2, 0x89) && is(at - 1, 0xc7);
  if (converts) prefix = 9;
  return prefix && (code.start.value + at - *prefix) % 16 == 0 ? prefix : std::nullopt;
}

bool add_wrappers(const Code& code, AllocatorEntries& entries) {
  const std::size_t before = entries.size();
  const auto callee = [&](std::size_t at) { return entries.find(target_of_jump(code, at)); };
  each_opcode(code, 0xe8, [&](std::size_t at) {
    const auto allocator = callee(at);
    if (allocator == entries.end()) return;
    const auto prefix = wrapper_prefix(code, at);
    if (prefix) entries.emplace(code.start.value + at - *prefix, allocator->second);
  });
  each_opcode(code, 0xe9, [&](std::size_t at) {
    const auto allocator = callee(at);
    const std::uint64_t start = code.start.value + at;
    if (allocator != entries.end() && start % 16 == 0) entries.emplace(start, allocator->second);
  });
  return entries.size() > before;
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
