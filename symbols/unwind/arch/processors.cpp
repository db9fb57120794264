#include <algorithm>
#include <array>

#include <elf.h>

#include "symbols/unwind/arch/signal_return.h"
#include "symbols/unwind/arch/x86_64.h"

// All functions of this folder do what is right for the processor that a module's file names. For
// an unknown one, they find nothing.

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostKnown = 100'000;

struct Processor {
  std::uint16_t machine;
  decltype(&x86_64::epilogues) epilogues;
  decltype(&x86_64::switches_stack) switches_stack;
  decltype(&x86_64::pushed_at_start) pushed_at_start;
  decltype(&x86_64::call_before) call_before;
  decltype(&x86_64::begins_with_frame) begins_with_frame;
  decltype(&x86_64::is_signal_return) is_signal_return;
  decltype(&x86_64::is_word_of_stub) is_word_of_stub;
  decltype(&x86_64::stub_bytes) stub_bytes;
  decltype(&x86_64::stub_target) stub_target;
};

constexpr std::array kProcessors{
    Processor{EM_X86_64, &x86_64::epilogues, &x86_64::switches_stack, &x86_64::pushed_at_start,
              &x86_64::call_before, &x86_64::begins_with_frame, &x86_64::is_signal_return,
              &x86_64::is_word_of_stub, &x86_64::stub_bytes, &x86_64::stub_target},
};

// Null for an unknown one.
const Processor* processor(std::uint16_t machine) {
  const auto* const found =
      std::find_if(kProcessors.begin(), kProcessors.end(),
                   [machine](const Processor& one) { return one.machine == machine; });
  return found == kProcessors.end() ? nullptr : found;
}

const Processor* processor(const Module& module) {
  return processor(module.machine());
}

}  // namespace

const std::vector<Epilogue>& Epilogues::at(const Module& module, RemoteAddr pc) {
  if (known_.size() >= kMostKnown) known_.clear();
  const auto [known, is_new] = known_.try_emplace(pc.value);
  const Processor* const own = processor(module);
  if (!is_new || own == nullptr) return known->second;
  if (!disassembler_) {
    auto opened = Disassembler::open(module.machine());
    if (!opened) return known->second;
    disassembler_.emplace(std::move(*opened));
  }
  known->second = own->epilogues(module, *disassembler_, pc);
  return known->second;
}

bool switches_stack(const Module& module, RemoteAddr start, RemoteAddr end) {
  const Processor* const own = processor(module);
  return own != nullptr && own->switches_stack(module, start, end);
}

std::vector<PushedRegister> pushed_at_start(const Module& module, RemoteAddr start, RemoteAddr pc) {
  const Processor* const own = processor(module);
  return own == nullptr ? std::vector<PushedRegister>() : own->pushed_at_start(module, start, pc);
}

std::optional<CallBefore> call_before(const Module& module, RemoteAddr at) {
  const Processor* const own = processor(module);
  return own == nullptr ? std::nullopt : own->call_before(module, at);
}

bool begins_with_frame(const Module& module, RemoteAddr start) {
  const Processor* const own = processor(module);
  return own != nullptr && own->begins_with_frame(module, start);
}

bool is_signal_return(const Module& module, RemoteAddr pc) {
  const Processor* const own = processor(module);
  return own != nullptr && own->is_signal_return(module, pc);
}

bool is_word_of_stub(std::uint16_t machine, std::uint64_t type) {
  const Processor* const own = processor(machine);
  return own != nullptr && own->is_word_of_stub(type);
}

std::uint64_t stub_bytes(std::uint16_t machine,
                         std::string_view section,
                         std::uint64_t entry_bytes) {
  const Processor* const own = processor(machine);
  return own == nullptr ? 0 : own->stub_bytes(section, entry_bytes);
}

StubTarget stub_target(std::uint16_t machine, std::span<const std::byte> code) {
  const Processor* const own = processor(machine);
  return own == nullptr ? StubTarget() : own->stub_target(code);
}

}  // namespace heapattach::unwind
