#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/remote_addr.h"
#include "symbols/code/disassembler.h"

namespace heapattach::crystal {

enum class Allocator : std::uint8_t { Normal, Atomic, Either };

// The target of a call: an allocator that takes its size as first argument, or an unknown function.
using CallTarget = std::function<std::optional<Allocator>(RemoteAddr)>;

// A constant of the program: the 4 or 8 bytes at an address that never changes, if it is one.
using ConstantAt = std::function<std::optional<std::uint64_t>(RemoteAddr, unsigned bytes)>;

// A position where a function makes an object: a call of an allocator with a constant size, whose
// result then gets a constant stored in its first four bytes: an immediate, or since Crystal 1.16
// one that is loaded from the type's read-only global.
struct AllocationSite {
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;
  Allocator allocator = Allocator::Normal;
  bool is_returned = false;      // by each return of the function that could be followed
  RemoteAddr allocator_at = {};  // the function that was called for it
  RemoteAddr made_at = {};       // the return address of that call
};

// The sites in `code`, the bytes of one whole function at `at`, found by following constants and
// fresh objects through it. A site with any uncertainty (two different ids stored, a size that
// depends on an argument) is left out.
std::vector<AllocationSite> find_allocation_sites(const Disassembler& disassembler,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  const CallTarget& target,
                                                  const ConstantAt& constant = {});

}  // namespace heapattach::crystal
