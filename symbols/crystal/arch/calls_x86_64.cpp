// A direct call is E8 with the distance in 32 bits, a jump E9. The runtime's wrappers of allocators
// have one shape:
//
//     push %rax; [call UInt64.new; mov %rax,%rdi;] call <allocator>; pop %rcx; ret
//     jmp <allocator>                                             (in a --release build)

#include <algorithm>
#include <array>
#include <cstring>

#include <elf.h>

#include "symbols/crystal/arch/processors.h"

namespace heapattach::crystal::x86_64 {

namespace {

std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

// Calls found(position) for each position of `opcode` with four bytes after it.
template <class Found>
void each_opcode(const Code& code, std::uint8_t opcode, const Found& found) {
  const auto* const begin = code.bytes.data();
  const auto* const end = begin + code.bytes.size();
  for (const auto* at = begin; at < end; ++at) {
    at = static_cast<const std::byte*>(std::memchr(at, opcode, static_cast<std::size_t>(end - at)));
    if (at == nullptr || end - at < 5) return;
    found(static_cast<std::size_t>(at - begin));
  }
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

void each_call(const Code& code, const std::function<void(std::size_t)>& found) {
  each_opcode(code, 0xe8, found);
}

std::uint64_t target_of_call(const Code& code, std::size_t at) {
  std::int32_t displacement = 0;
  std::memcpy(&displacement, code.bytes.data() + at + 1, sizeof(displacement));
  return (code.start + at + 5).value + static_cast<std::uint64_t>(std::int64_t{displacement});
}

std::size_t begin_of_size(const Code& code, std::size_t at) {
  const auto is = [&](std::size_t back, std::uint8_t value) {
    return back <= at && byte_at(code.bytes, at - back) == value;
  };
  if (is(8, 0x31) && is(6, 0x89) && is(4, 0x48) && is(3, 0x83) && is(2, 0xc7)) return at - 8;
  if (is(11, 0x31) && is(9, 0x89) && is(7, 0x48) && is(6, 0x81) && is(5, 0xc7)) return at - 11;
  if (is(5, 0xbf)) return at - 5;
  return at;
}

// "movl $n,(register)" (c7 /0), or a "mov %ecx,(register)" (89 /r) soon after a load to the same
// register (8b /r).
bool stores_constant(std::span<const std::byte> body) {
  constexpr std::size_t kNear = 16;
  std::array<std::size_t, 8> loaded_at{};  // by register: the end of the last load
  for (std::size_t i = 0; i + 2 < body.size(); ++i) {
    const std::uint8_t code = byte_at(body, i);
    const std::uint8_t operand = byte_at(body, i + 1);
    const std::size_t reg = operand >> 3U & 7U;
    if (code == 0x8b && operand < 0xc0) loaded_at[reg] = i + 1;
    const bool is_load = code == 0x89 && loaded_at[reg] != 0 && i + 1 - loaded_at[reg] <= kNear;
    const bool is_constant = code == 0xc7 && i + 6 <= body.size();
    if (!is_constant && !is_load) continue;
    const std::uint8_t place = is_load ? operand & 0xc7U : operand;
    const bool is_register = place < 8 && place != 5;
    const bool is_register_and_0 = place >= 0x40 && place < 0x48 && byte_at(body, i + 2) == 0;
    if (is_register || is_register_and_0) return true;
  }
  return false;
}

// "mov $n,%edi".
std::optional<std::uint32_t> first_constant(std::span<const std::byte> body) {
  constexpr std::size_t kBeginning = 16;
  for (std::size_t i = 0; i < kBeginning && i + 5 <= body.size(); ++i) {
    if (byte_at(body, i) != 0xbf) continue;
    std::uint32_t constant = 0;
    std::memcpy(&constant, body.data() + i + 1, sizeof(constant));
    return constant;
  }
  return std::nullopt;
}

// Stubs are "jmp *slot(%rip)" (ff 25), with or without endbr64 or bnd before it; mold also sets
// r11d.
void add_stubs(const Code& code, const AllocatorEntries& slots, AllocatorEntries& entries) {
  each_opcode(code, 0x25, [&](std::size_t at) {
    if (at == 0 || byte_at(code.bytes, at - 1) != 0xff) return;
    const auto slot = slots.find(x86_64::target_of_call(code, at));
    if (slot == slots.end()) return;
    for (const std::size_t prefix : {1U, 2U, 5U, 6U, 7U, 11U}) {
      if (prefix <= at) entries[code.start.value + at - prefix] = slot->second;
    }
  });
}

bool add_wrappers(const Code& code, AllocatorEntries& entries) {
  const std::size_t before = entries.size();
  const auto callee = [&](std::size_t at) {
    return entries.find(x86_64::target_of_call(code, at));
  };
  x86_64::each_call(code, [&](std::size_t at) {
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

constinit const Processor kProcessor{.machine = EM_X86_64,
                                     .find_allocation_sites = find_allocation_sites,
                                     .each_call = each_call,
                                     .target_of_call = target_of_call,
                                     .begin_of_size = begin_of_size,
                                     .stores_constant = stores_constant,
                                     .first_constant = first_constant,
                                     .add_stubs = add_stubs,
                                     .add_wrappers = add_wrappers};

}  // namespace heapattach::crystal::x86_64
