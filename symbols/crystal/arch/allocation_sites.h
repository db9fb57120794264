#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/code/disassembler.h"

namespace heapattach::crystal {

enum class Allocator : std::uint8_t { Normal, Atomic, Either };

// The target of a call: an allocator that takes the size as its first argument, or an unknown
// function.
using CallTarget = std::function<std::optional<Allocator>(RemoteAddr)>;

// A constant of the program: the 4 or 8 bytes at an address, if they never change; otherwise none.
using ConstantAt = std::function<std::optional<std::uint64_t>(RemoteAddr, unsigned bytes)>;

// A place where a function creates an object: it calls an allocator with a constant size, then
// stores a constant in the first four bytes of the result. The constant is an immediate or, since
// Crystal 1.16, is loaded from the type's read-only global.
struct AllocationSite {
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;
  Allocator allocator = Allocator::Normal;
  bool is_returned = false;      // on every return path that could be followed
  RemoteAddr allocator_at = {};  // the function that the code calls
  RemoteAddr made_at = {};       // the return address of that call
};

// Finds the sites in `code`, the bytes of one whole function at `at`, by following constants and
// new objects through it. Omits a site if anything is uncertain (two different ids are stored, or
// the size depends on an argument).
std::vector<AllocationSite> find_allocation_sites(const Disassembler& disassembler,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  const CallTarget& target,
                                                  const ConstantAt& constant = {});

}  // namespace heapattach::crystal
