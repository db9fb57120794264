#include "symbols/crystal/arch/processors.h"

#include <algorithm>
#include <array>

#include "attach/base/check.h"

namespace heapattach::crystal {

namespace {

constexpr std::array kProcessors{&x86_64::kProcessor, &aarch64::kProcessor};

const Processor& processor(std::uint16_t machine) {
  const auto found = std::find_if(kProcessors.begin(), kProcessors.end(),
                                  [&](const Processor* one) { return one->machine == machine; });
  HA_CHECK(found != kProcessors.end());
  return **found;
}

}  // namespace

bool knows_calls(std::uint16_t machine) {
  return std::any_of(kProcessors.begin(), kProcessors.end(),
                     [&](const Processor* one) { return one->machine == machine; });
}

void each_call(const Code& code, const std::function<void(std::size_t)>& found) {
  processor(code.machine).each_call(code, found);
}

std::uint64_t target_of_call(const Code& code, std::size_t at) {
  return processor(code.machine).target_of_call(code, at);
}

std::size_t begin_of_size(const Code& code, std::size_t at) {
  return processor(code.machine).begin_of_size(code, at);
}

bool stores_constant(const Code& body) {
  return processor(body.machine).stores_constant(body.bytes);
}

std::optional<std::uint32_t> first_constant(const Code& body) {
  return processor(body.machine).first_constant(body.bytes);
}

void add_stubs(const Code& code, const AllocatorEntries& slots, AllocatorEntries& entries) {
  if (!slots.empty()) processor(code.machine).add_stubs(code, slots, entries);
}

bool add_wrappers(const Code& code, AllocatorEntries& entries) {
  return processor(code.machine).add_wrappers(code, entries);
}

std::vector<AllocationSite> find_allocation_sites(const Disassembler& disassembler,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  const CallTarget& target,
                                                  const ConstantAt& constant) {
  constexpr std::size_t kLongestFunction = 64U << 10U;
  if (code.size() > kLongestFunction) return {};
  return processor(disassembler.machine())
      .find_allocation_sites(disassembler, code, at, target, constant);
}

}  // namespace heapattach::crystal
