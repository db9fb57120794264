#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "symbols/crystal/arch/allocation_sites.h"
#include "symbols/crystal/arch/calls.h"

namespace heapattach::crystal {

using FindAllocationSites = std::vector<AllocationSite>(const Disassembler& disassembler,
                                                        std::span<const std::byte> code,
                                                        RemoteAddr at,
                                                        const CallTarget& target,
                                                        const ConstantAt& constant);

// The code of one processor; allocation_sites.h and calls.h explain each function.
struct Processor {
  std::uint16_t machine;
  FindAllocationSites* find_allocation_sites;
  void (*each_call)(const Code& code, const std::function<void(std::size_t position)>& found);
  std::uint64_t (*target_of_call)(const Code& code, std::size_t at);
  std::size_t (*begin_of_size)(const Code& code, std::size_t at);
  bool (*stores_constant)(std::span<const std::byte> body);
  std::optional<std::uint32_t> (*first_constant)(std::span<const std::byte> body);
  void (*add_stubs)(const Code& code, const AllocatorEntries& slots, AllocatorEntries& entries);
  bool (*add_wrappers)(const Code& code, AllocatorEntries& entries);
};

namespace x86_64 {
FindAllocationSites find_allocation_sites;
extern const Processor kProcessor;
}  // namespace x86_64

namespace aarch64 {
FindAllocationSites find_allocation_sites;
extern const Processor kProcessor;
}  // namespace aarch64

}  // namespace heapattach::crystal
