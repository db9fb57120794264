#include <algorithm>
#include <array>
#include <iterator>

#include <elf.h>

#include "attach/arch/red_zone.h"
#include "symbols/unwind/arch/aarch64.h"
#include "symbols/unwind/arch/fiber_frame.h"
#include "symbols/unwind/arch/signal_return.h"
#include "symbols/unwind/arch/x86_64.h"

// All functions of this folder do what is right for the processor that a module's file names. For
// an unknown one, they find nothing.

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostKnown = 100'000;

using SavedByFiber = std::span<const std::optional<std::uint8_t>>;

// Fiber.swapcontext pushed rdi, rbx, rbp and r12 to r15, in this order, on top of its return
// address, and saved the stack pointer.
constexpr std::array<std::optional<std::uint8_t>, 8> kFiberOfX86{15, 14, 13, 12, 6, 3, 5, 16};
// It made room for 22 words: d15 to d8, x30, x29, x28 to x19, and two arguments. It will continue
// at x30.
constexpr std::array<std::optional<std::uint8_t>, 22> kFiberOfAarch64{
    {{}, {}, {}, {}, {}, {}, {}, {}, 32, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, {}, {}}};

struct Processor {
  const RegisterNumbers* numbers;
  SignalFrame signal_frame;
  SavedByFiber saved_by_fiber;
  decltype(&x86_64::take_general) take_general;
  decltype(&x86_64::epilogues) epilogues;
  decltype(&x86_64::switches_stack) switches_stack;
  decltype(&x86_64::pushed_at_start) pushed_at_start;
  decltype(&x86_64::call_before) call_before;
  decltype(&x86_64::begins_with_frame) begins_with_frame;
  decltype(&x86_64::is_signal_return) is_signal_return;
  std::span<const std::byte> signal_return;
  decltype(&x86_64::interrupted) interrupted;
  decltype(&x86_64::is_word_of_stub) is_word_of_stub;
  decltype(&x86_64::stub_bytes) stub_bytes;
  decltype(&x86_64::stub_target) stub_target;
  decltype(&x86_64::generated_frame) generated_frame;  // null: Mono was not tried on it
};

constexpr std::array kProcessors{
    Processor{&x86_64::kNumbers,
              {kSavedAt, kSavedByKernel},
              kFiberOfX86,
              &x86_64::take_general,
              &x86_64::epilogues,
              &x86_64::switches_stack,
              &x86_64::pushed_at_start,
              &x86_64::call_before,
              &x86_64::begins_with_frame,
              &x86_64::is_signal_return,
              kSignalReturn,
              &x86_64::interrupted,
              &x86_64::is_word_of_stub,
              &x86_64::stub_bytes,
              &x86_64::stub_target,
              &x86_64::generated_frame},
    Processor{&aarch64::kNumbers,
              {aarch64::kSavedAt, aarch64::kSavedByKernel},
              kFiberOfAarch64,
              &aarch64::take_general,
              &aarch64::epilogues,
              &aarch64::switches_stack,
              &aarch64::pushed_at_start,
              &aarch64::call_before,
              &aarch64::begins_with_frame,
              &aarch64::is_signal_return,
              aarch64::kSignalReturn,
              &aarch64::interrupted,
              &aarch64::is_word_of_stub,
              &aarch64::stub_bytes,
              &aarch64::stub_target,
              nullptr},
};

// Null for an unknown one.
const Processor* processor(std::uint16_t machine) {
  const auto* const found =
      std::find_if(kProcessors.begin(), kProcessors.end(),
                   [machine](const Processor& one) { return one.numbers->machine == machine; });
  return found == kProcessors.end() ? nullptr : found;
}

const Processor* processor(const Module& module) {
  return processor(module.machine());
}

}  // namespace

const RegisterNumbers& numbers_of(std::uint16_t machine) {
  const Processor* const known = processor(machine);
  return known == nullptr ? *processor(kOwnProcessor)->numbers : *known->numbers;
}

MachineState::MachineState(std::uint16_t machine, const Registers& registers)
    : MachineState(machine) {
  set_pc(registers.instruction_pointer.value);
  set_sp(registers.stack_pointer.value);
  processor(numbers_->machine)->take_general(registers, *this);
}

SignalFrame signal_frame(std::uint16_t machine) {
  const Processor* const own = processor(machine);
  return own == nullptr ? SignalFrame() : own->signal_frame;
}

SavedByFiber saved_by_fiber(std::uint16_t machine) {
  const Processor* const own = processor(machine);
  return own == nullptr ? SavedByFiber() : own->saved_by_fiber;
}

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

std::optional<Interrupted> interrupted_at(const MemoryReader& memory,
                                          RemoteAddr code,
                                          RemoteAddr place,
                                          const Range& stack) {
  for (const Processor& one : kProcessors) {
    std::array<std::byte, kSignalReturn.size()> bytes{};
    const auto there = std::span(bytes).first(one.signal_return.size());
    const bool is_it = memory.read(code, there).has_value() &&
                       std::equal(there.begin(), there.end(), one.signal_return.begin());
    if (!is_it) continue;
    auto found = one.interrupted(memory, place, stack);
    if (found) found->bytes_below = red_zone_bytes(one.numbers->machine);
    return found;
  }
  return std::nullopt;
}

std::optional<GeneratedFrame> generated_frame(std::uint16_t machine,
                                              const GeneratedFunction& function,
                                              RemoteAddr pc) {
  const Processor* const own = processor(machine);
  const bool is_tried = own != nullptr && own->generated_frame != nullptr;
  return is_tried ? own->generated_frame(function, pc) : std::nullopt;
}

const GeneratedFunction* function_at(std::span<const GeneratedFunction> functions, RemoteAddr pc) {
  const auto after =
      std::partition_point(functions.begin(), functions.end(),
                           [pc](const GeneratedFunction& one) { return one.code.start <= pc; });
  if (after == functions.begin() || !std::prev(after)->code.contains(pc)) return nullptr;
  return &*std::prev(after);
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

StubTarget stub_target(std::uint16_t machine, std::span<const std::byte> code, std::uint64_t at) {
  const Processor* const own = processor(machine);
  return own == nullptr ? StubTarget() : own->stub_target(code, at);
}

}  // namespace heapattach::unwind
