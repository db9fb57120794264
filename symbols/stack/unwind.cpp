#include "symbols/stack/unwind.h"

#include <array>

#include "symbols/stack/location.h"

namespace heapattach::stack {

namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::size_t kScannedWords = 16;
constexpr int kMostSignalFrames = 8;

// What the C library returns to from a signal's handler: mov $15,%rax; syscall.
constexpr std::array<std::uint8_t, 9> kSignalReturn = {0x48, 0xc7, 0xc0, 0x0f, 0x00,
                                                       0x00, 0x00, 0x0f, 0x05};
// Where the kernel's ucontext_t, which the stack pointer then leads to, keeps the registers
// (arch/x86/include/uapi/asm/sigcontext.h), by their numbers in debug information.
constexpr std::uint64_t kSavedAt = 40;
constexpr std::array<std::size_t, 17> kSavedByKernel = {8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                        4, 6, 3,  1,  0,  2,  7,  16};

struct Step {
  MachineState caller{};
  std::optional<std::uint64_t> cfa{};
  FoundBy found_by = FoundBy::FrameTables;
  bool has_caller = true;
  bool is_exact = false;  // the caller was interrupted: it called nothing
};

class Unwinder {
 public:
  Unwinder(ModuleDebugs& modules, const MemoryReader& memory)
      : modules_(modules), memory_(memory) {}

  WalkedStack run(const MachineState& innermost, bool is_exact, std::size_t most_frames) {
    WalkedStack walked;
    walked.frames.push_back({.state = innermost, .is_exact = is_exact});
    while (true) {
      Frame& frame = walked.frames.back();
      const auto step = next(frame, walked.frames.size() == 1);
      if (step) frame.cfa = step->cfa;
      if (const auto end = end_at(frame, step)) {
        walked.end = *end;
        return walked;
      }
      if (walked.frames.size() >= most_frames) {
        walked.end = StackEnd::Limit;
        return walked;
      }
      walked.frames.push_back(
          {.state = step->caller, .is_exact = step->is_exact, .found_by = step->found_by});
    }
  }

 private:
  std::optional<StackEnd> end_at(const Frame& frame, const std::optional<Step>& step) {
    if (!step) return modules_.is_code(frame.pc()) ? StackEnd::Unknown : StackEnd::Corrupt;
    if (!step->has_caller || step->caller.pc() == 0) return StackEnd::Outermost;
    if (step->is_exact && ++signal_frames_ <= kMostSignalFrames) return {};
    // A thread's first frame may have no more than its return address between it and its caller.
    const bool leads_up = step->caller.sp() > frame.state.sp();
    if (!leads_up || !modules_.is_code(RemoteAddr{step->caller.pc() - 1})) return StackEnd::Corrupt;
    return {};
  }

  std::optional<Step> next(const Frame& frame, bool is_innermost) {
    if (ModuleDebug* debug = modules_.find(frame.pc()); debug != nullptr) {
      if (is_signal_return(*debug, frame)) return by_signal_frame(frame);
      if (auto step = by_tables(*debug, frame)) return step;
    }
    if (auto step = by_frame_pointer(frame)) return step;
    return is_innermost ? by_scan(frame) : std::nullopt;
  }

  // Its own tables describe it too, but not all C libraries have any.
  static bool is_signal_return(const ModuleDebug& debug, const Frame& frame) {
    const auto code = debug.module().file_bytes(RemoteAddr{frame.state.pc()});
    if (code.size() < kSignalReturn.size()) return false;
    for (std::size_t i = 0; i < kSignalReturn.size(); ++i) {
      if (code[i] != std::byte{kSignalReturn[i]}) return false;
    }
    return true;
  }

  std::optional<Step> by_signal_frame(const Frame& frame) {
    Step step{.found_by = FoundBy::SignalFrame, .is_exact = true};
    const RemoteAddr saved = RemoteAddr{frame.state.sp()} + kSavedAt;
    for (std::size_t i = 0; i < kSavedByKernel.size(); ++i) {
      const auto word = memory_.read_as<std::uint64_t>(saved + i * kWord);
      if (!word) return {};
      step.caller.set(kSavedByKernel[i], *word);
    }
    step.cfa = step.caller.sp();
    return step;
  }

  std::optional<Step> by_tables(ModuleDebug& debug, const Frame& frame) {
    const auto table = debug.frame_at(frame.pc().value - debug.bias());
    if (table == nullptr) return {};
    bool is_signal = false;
    const int returns_by = dwarf_frame_info(table.get(), nullptr, nullptr, &is_signal);
    if (returns_by != static_cast<int>(MachineState::kReturnAddress)) return {};
    LocationContext context{frame.state, memory_, debug.bias(), {}, {}};
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_cfa(table.get(), &ops, &count) != 0 || count == 0) return {};
    const auto cfa = follow({ops, count}, context);
    if (!cfa || cfa->kind == Location::Kind::Register) return {};
    context.cfa = cfa->value;

    Step step{.cfa = cfa->value, .is_exact = is_signal};
    for (std::size_t number = 0; number < MachineState::kCount; ++number) {
      step.caller.set(number, restored(*table, number, context));
    }
    // The stack pointer is the CFA, unless the tables say how else to restore it.
    if (!step.caller.at(MachineState::kStackPointer)) {
      step.caller.set(MachineState::kStackPointer, cfa->value);
    }
    step.has_caller = step.caller.at(MachineState::kReturnAddress).has_value();
    return step;
  }

  // A register of the caller. What a function must keep is unchanged if its tables say nothing.
  std::optional<std::uint64_t> restored(Dwarf_Frame& table,
                                        std::size_t number,
                                        const LocationContext& context) {
    std::array<Dwarf_Op, 3> room{};
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_register(&table, static_cast<int>(number), room.data(), &ops, &count) != 0) {
      return {};
    }
    if (count == 0) return ops == nullptr ? context.state.at(number) : std::nullopt;
    const auto found = follow({ops, count}, context);
    if (!found) return {};
    switch (found->kind) {
      case Location::Kind::Value: return found->value;
      case Location::Kind::Register: return context.state.at(found->value);
      case Location::Kind::Address: break;
    }
    return load(found->value);
  }

  std::optional<Step> by_frame_pointer(const Frame& frame) {
    const auto base = frame.state.at(MachineState::kFramePointer);
    if (!base || *base % kWord != 0 || *base < frame.state.sp()) return {};
    const auto saved = load(*base);
    const auto returns_to = load(*base + kWord);
    if (!saved || !returns_to || !modules_.is_code(RemoteAddr{*returns_to - 1})) return {};
    return caller_at(*base + 2 * kWord, *returns_to, *saved, FoundBy::FramePointer);
  }

  // Code that no file holds (the vDSO), stopped in before it made a frame.
  std::optional<Step> by_scan(const Frame& frame) {
    for (std::size_t i = 0; i < kScannedWords; ++i) {
      const std::uint64_t at = frame.state.sp() + i * kWord;
      const auto word = load(at);
      if (!word) return {};
      if (!modules_.is_code(RemoteAddr{*word - 1})) continue;
      return caller_at(at + kWord, *word, frame.state.at(MachineState::kFramePointer),
                       FoundBy::Scan);
    }
    return {};
  }

  static Step caller_at(std::uint64_t cfa,
                        std::uint64_t pc,
                        std::optional<std::uint64_t> frame_pointer,
                        FoundBy found_by) {
    Step step{.cfa = cfa, .found_by = found_by};
    step.caller.set(MachineState::kFramePointer, frame_pointer);
    step.caller.set(MachineState::kStackPointer, cfa);
    step.caller.set(MachineState::kReturnAddress, pc);
    return step;
  }

  [[nodiscard]] std::optional<std::uint64_t> load(std::uint64_t at) const {
    const auto word = memory_.read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  }

  ModuleDebugs& modules_;
  const MemoryReader& memory_;
  int signal_frames_ = 0;
};

}  // namespace

WalkedStack unwind(ModuleDebugs& modules,
                   const MemoryReader& memory,
                   const MachineState& innermost,
                   bool is_exact,
                   std::size_t most_frames) {
  return Unwinder(modules, memory).run(innermost, is_exact, most_frames);
}

Result<MachineState> suspended_fiber(const MemoryReader& memory, RemoteAddr stack_pointer) {
  MachineState state;
  for (std::size_t i = 0; i < kSavedByFiber.size(); ++i) {
    state.set(kSavedByFiber[i], HA_TRY(memory.read_as<std::uint64_t>(stack_pointer + i * kWord)));
  }
  state.set(MachineState::kStackPointer, stack_pointer.value + kSavedByFiber.size() * kWord);
  return state;
}

}  // namespace heapattach::stack
