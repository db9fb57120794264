#include "symbols/unwind/unwind.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

#include "attach/base/word.h"
#include "symbols/unwind/arch/fiber_frame.h"
#include "symbols/unwind/arch/generated_frame.h"
#include "symbols/unwind/arch/prologues.h"
#include "symbols/unwind/arch/return_addresses.h"
#include "symbols/unwind/arch/signal_return.h"

namespace heapattach::unwind {

namespace {

constexpr std::size_t kScannedWords = 256;
constexpr int kMostSignalFrames = 8;
constexpr int kMostGuesses = 64;  // in a row: there may be many leftovers of earlier calls

// The kept frames of one stack: the innermost frames, and the last of all other frames.
class KeptFrames {
 public:
  explicit KeptFrames(const FrameLimits& limits) : limits_(limits) {}

  void add(const Frame& frame) {
    ++count_;
    if (first_.size() < std::max<std::size_t>(1, limits_.innermost)) {
      first_.push_back(frame);
    } else {
      last_.push_back(frame);
      if (last_.size() > limits_.outermost + 1) last_.pop_front();
    }
  }
  Frame& back() { return last_.empty() ? first_.back() : last_.back(); }
  [[nodiscard]] std::uint64_t count() const { return count_; }

  WalkedStack take(StackEnd end) {
    WalkedStack walked;
    walked.end = end;
    walked.frames = std::move(first_);
    walked.left_out_behind = walked.frames.size();
    if (last_.size() > limits_.outermost) last_.pop_front();
    std::move(last_.begin(), last_.end(), std::back_inserter(walked.frames));
    walked.left_out = count_ - walked.frames.size();
    if (walked.left_out == 0) walked.left_out_behind = 0;
    return walked;
  }

 private:
  const FrameLimits& limits_;
  std::vector<Frame> first_;
  std::deque<Frame> last_;
  std::uint64_t count_ = 0;
};

bool is_guess(FoundBy found_by) {
  return found_by == FoundBy::FramePointer || found_by == FoundBy::Scan;
}

}  // namespace

struct Unwinder::Step {
  MachineState caller{};
  std::optional<std::uint64_t> cfa{};
  FoundBy found_by = FoundBy::FrameTables;
  bool has_caller = true;
  bool is_exact = false;    // the caller was interrupted; it did not make a call
  bool is_certain = false;  // a scan has found a call of this very function

  // Makes a step from a frame, with the registers of the same processor.
  static Step from(const Frame& frame, std::uint64_t cfa, FoundBy found_by) {
    return {
        .caller = MachineState(frame.state.numbers().machine), .cfa = cfa, .found_by = found_by};
  }
  Step& to(std::uint64_t pc, std::optional<std::uint64_t> frame_pointer) {
    caller.set_frame_pointer(frame_pointer);
    caller.set_sp(cfa);
    caller.set_pc(pc);
    return *this;
  }
};

// Whether the step moves up the stack. Between a thread's first frame and its caller there may be
// only a return address, or nothing at all if the processor returns to an address in a register.
bool Unwinder::moves_up(const Frame& frame, const Step& step) {
  const RegisterNumbers& numbers = frame.state.numbers();
  const bool is_in_register = numbers.return_address != numbers.program_counter;
  const bool may_be_empty = frame.is_exact && is_in_register;
  return step.caller.sp() > frame.state.sp() ||
         (may_be_empty && step.caller.sp() == frame.state.sp());
}

WalkedStack Unwinder::walk(const MachineState& innermost,
                           bool is_exact,
                           const FrameLimits& limits) {
  signal_frames_ = 0;
  KeptFrames kept(limits);
  kept.add({.state = innermost, .is_exact = is_exact});
  int guesses = 0;  // consecutive guesses
  while (true) {
    Frame& frame = kept.back();
    const auto step = next(frame);
    if (step) frame.cfa = step->cfa;
    if (const auto end = end_at(frame, step)) return kept.take(*end);
    if (kept.count() >= limits.followed) return kept.take(StackEnd::Limit);
    guesses = step->found_by == FoundBy::Scan ? guesses + 1 : 0;
    if (guesses > kMostGuesses) return kept.take(StackEnd::Unknown);
    // The code to which a signal handler returns made no call: before it is another function.
    const bool calls_nothing = step->is_exact || returns_from_signal(step->caller.pc());
    kept.add({.state = step->caller, .is_exact = calls_nothing, .found_by = step->found_by});
  }
}

std::optional<StackEnd> Unwinder::end_at(const Frame& frame, const std::optional<Step>& step) {
  if (!step) {
    const bool is_in_code = is_code(frame.pc());
    return why_not(frame, frame.pc(), is_in_code ? StackEnd::Unknown : StackEnd::Corrupt);
  }
  if (!step->has_caller || step->caller.pc() == 0) return StackEnd::Outermost;
  if (step->is_exact && ++signal_frames_ <= kMostSignalFrames) return {};
  const bool leads_up = moves_up(frame, *step);
  const RemoteAddr next{step->caller.pc() - 1};
  if (leads_up && is_code(next)) {
    const bool is_elsewhere = !frame.is_exact && has_switched_stack(frame.pc()) &&
                              !may_have_called(RemoteAddr{step->caller.pc()}, frame);
    return is_elsewhere ? std::optional(StackEnd::OtherStack) : std::nullopt;
  }
  return why_not(frame, next, StackEnd::Corrupt);
}

// Why the stack cannot be followed from `frame` to code at `next`; `otherwise` if that is unknown.
StackEnd Unwinder::why_not(const Frame& frame, RemoteAddr next, StackEnd otherwise) {
  const Mapping* const code = map_ == nullptr ? nullptr : map_->find(next);
  if (code != nullptr && code->executable && !is_code(next)) return StackEnd::Generated;
  return has_switched_stack(frame.pc()) ? StackEnd::OtherStack : otherwise;
}

// Whether the call instruction before `at` may call the frame's function.
bool Unwinder::may_have_called(RemoteAddr at, const Frame& frame) {
  const ModuleDebug* const caller = modules_.find(at - 1);
  const ModuleDebug* const here = modules_.find(frame.pc());
  const auto call = caller == nullptr ? std::nullopt : call_before(caller->module(), at);
  const auto function = here == nullptr ? std::nullopt : here->module().symbol_at(frame.pc());
  return call && (!call->target || !function || *call->target == function->address);
}

bool Unwinder::has_switched_stack(RemoteAddr pc) {
  const auto [known, is_new] = switches_.try_emplace(pc.value, false);
  if (is_new) {
    const ModuleDebug* const debug = modules_.find(pc);
    const auto function = debug == nullptr ? std::nullopt : debug->module().symbol_at(pc);
    known->second = function && switches_stack(debug->module(), function->address, pc);
  }
  return known->second;
}

std::optional<Unwinder::Step> Unwinder::next(const Frame& frame) {
  // The code to which a signal handler returns has tables only in some C libraries.
  if (returns_from_signal(frame.state.pc())) return by_signal_frame(frame);
  if (const GeneratedFunction* const function = function_at(generated_, frame.pc())) {
    return by_generated(*function, frame);
  }
  if (ModuleDebug* debug = modules_.find(frame.pc()); debug != nullptr) {
    const auto step = by_tables(*debug, frame);
    // After a guess, the registers that the tables use may be wrong.
    if (step && (!is_guess(frame.found_by) || may_follow(frame, *step))) return step;
    if (auto by_its_code = by_code(*debug, frame)) return by_its_code;
  }
  const auto by_pointer = by_frame_pointer(frame);
  auto scanned = by_scan(frame);
  // If the code makes no frame of its own, the frame pointer is an outer caller's, and following it
  // would skip the frames in between.
  const bool is_nearer = scanned && by_pointer && scanned->cfa < by_pointer->cfa &&
                         (scanned->is_certain || !may_have_frame_pointer(frame));
  return by_pointer && !is_nearer ? by_pointer : scanned;
}

// Whether the frame's function begins by setting up a frame pointer; true if unknown.
bool Unwinder::may_have_frame_pointer(const Frame& frame) {
  const ModuleDebug* const debug = modules_.find(frame.pc());
  if (debug == nullptr) return true;
  const auto function = debug->module().symbol_at(frame.pc());
  return !function || begins_with_frame(debug->module(), function->address);
}

bool Unwinder::may_follow(const Frame& frame, const Step& step) const {
  return !step.has_caller || (moves_up(frame, step) && is_code(RemoteAddr{step.caller.pc() - 1}));
}

bool Unwinder::returns_from_signal(std::uint64_t pc) {
  const auto [known, is_new] = signal_returns_.try_emplace(pc, false);
  if (is_new) {
    const ModuleDebug* const debug = modules_.find(RemoteAddr{pc});
    known->second = debug != nullptr && is_signal_return(debug->module(), RemoteAddr{pc});
  }
  return known->second;
}

std::optional<Unwinder::Step> Unwinder::by_signal_frame(const Frame& frame) const {
  Step step = Step::from(frame, 0, FoundBy::SignalFrame);
  step.is_exact = true;
  const SignalFrame saved = signal_frame(frame.state.numbers().machine);
  const RemoteAddr at = RemoteAddr{frame.state.sp()} + saved.saved_at;
  for (std::size_t i = 0; i < saved.registers.size(); ++i) {
    const auto word = load((at + i * kWordBytes).value);
    if (!word) return {};
    step.caller.set(saved.registers[i], *word);
  }
  step.cfa = step.caller.sp();
  return step;
}

std::optional<Unwinder::Step> Unwinder::by_tables(ModuleDebug& debug, const Frame& frame) {
  const FrameRule* const rule = rules_.at(debug, frame.pc());
  if (rule == nullptr) return {};
  const auto cfa = rule->cfa(frame.state, memory_);
  if (!cfa) return {};
  const RegisterNumbers& numbers = frame.state.numbers();
  Step step = Step::from(frame, *cfa, FoundBy::FrameTables);
  step.is_exact = rule->is_signal_frame();
  for (std::size_t number = 0; number < numbers.count; ++number) {
    step.caller.set(number, rule->restored(number, frame.state, memory_, *cfa));
  }
  // The stack pointer is the CFA, unless the tables restore it in another way.
  if (!step.caller.at(numbers.stack_pointer)) step.caller.set_sp(*cfa);
  step.has_caller = !rule->is_outermost();
  const auto returns_to = step.caller.at(numbers.program_counter);
  if (step.has_caller && !returns_to) return {};
  if (returns_to) step.caller.set_pc(code_address(*returns_to));
  return step;
}

bool Unwinder::is_code(RemoteAddr at) const {
  return modules_.is_code(at) || function_at(generated_, at) != nullptr;
}

std::optional<Unwinder::Step> Unwinder::by_generated(const GeneratedFunction& function,
                                                     const Frame& frame) const {
  const RegisterNumbers& numbers = frame.state.numbers();
  const auto found = generated_frame(numbers.machine, function, RemoteAddr{frame.state.pc()});
  if (!found) return {};
  const auto base =
      found->is_from_frame_pointer ? frame.state.frame_pointer() : std::optional(frame.state.sp());
  if (!base) return {};
  const std::uint64_t cfa = *base + found->bytes;
  const auto returns_to = load(cfa - kWordBytes);
  if (!returns_to) return {};
  Step step = Step::from(frame, cfa, FoundBy::Code);
  for (std::size_t number = 0; number < numbers.count; ++number) {
    if (numbers.is_preserved(number)) step.caller.set(number, frame.state.at(number));
  }
  for (const GeneratedFrame::Saved& saved : found->saved) {
    step.caller.set(saved.number, load(cfa - saved.below));
  }
  step.caller.set_sp(cfa);
  step.caller.set_pc(*returns_to);
  return step;
}

// Follows the function's code to a return, and takes the first path that yields a return address. A
// path whose return address follows a call of this very function is preferred.
std::optional<Unwinder::Step> Unwinder::by_code(ModuleDebug& debug, const Frame& frame) {
  const auto function = debug.module().symbol_at(frame.pc());
  const auto frame_pointer = frame.state.frame_pointer();
  const auto place = [&](const StackPlace& at) -> std::optional<std::uint64_t> {
    if (at.is_from_frame_pointer && !frame_pointer) return {};
    const std::uint64_t base = at.is_from_frame_pointer ? *frame_pointer : frame.state.sp();
    return base + static_cast<std::uint64_t>(at.offset);
  };
  std::optional<Step> first;
  for (const Epilogue& way : epilogues_.at(debug.module(), RemoteAddr{frame.state.pc()})) {
    const auto at = place(way.return_address);
    const bool is_above = at && *at % kWordBytes == 0 && *at >= frame.state.sp();
    const auto returns_to = is_above ? load(*at) : std::nullopt;
    if (!returns_to) continue;
    const ModuleDebug* const caller = modules_.find(RemoteAddr{*returns_to - 1});
    if (caller == nullptr) continue;
    const auto call = call_before(caller->module(), RemoteAddr{*returns_to});
    if (!call) continue;
    Step step = Step::from(frame, *at + kWordBytes, FoundBy::Code);
    const RegisterNumbers& numbers = frame.state.numbers();
    for (std::size_t number = 0; number < numbers.count; ++number) {
      const bool is_kept = numbers.is_preserved(number) && (way.changed >> number & 1U) == 0;
      if (is_kept) step.caller.set(number, frame.state.at(number));
    }
    for (const Epilogue::Saved& saved : way.saved) {
      const auto from = place(saved.at);
      step.caller.set(saved.number, from ? load(*from) : std::nullopt);
    }
    step.caller.set_sp(*at + kWordBytes);
    step.caller.set_pc(*returns_to);
    if (function && call->target == function->address) return step;
    if (!first) first = step;
  }
  return first;
}

std::optional<Unwinder::Step> Unwinder::by_frame_pointer(const Frame& frame) {
  const auto base = frame.state.frame_pointer();
  if (!base || *base % kWordBytes != 0 || *base < frame.state.sp()) return {};
  const auto saved = load(*base);
  const auto word = load(*base + kWordBytes);
  if (!saved || !word) return {};
  const std::uint64_t returns_to = code_address(*word);
  if (!is_code(RemoteAddr{returns_to - 1})) return {};
  return Step::from(frame, *base + 2 * kWordBytes, FoundBy::FramePointer).to(returns_to, *saved);
}

// For code without tables and without a frame pointer. A word on the stack may be the return
// address if it is an address after a call. If that calls this very function, the return address is
// certain. If it calls another function, the word may be a leftover, or that function has jumped
// here.
std::optional<Unwinder::Step> Unwinder::by_scan(const Frame& frame) {
  const ModuleDebug* const here = modules_.find(frame.pc());
  const auto function = here == nullptr ? std::nullopt : here->module().symbol_at(frame.pc());
  std::optional<Step> first;
  for (std::size_t i = 0; i < kScannedWords; ++i) {
    const std::uint64_t at = frame.state.sp() + i * kWordBytes;
    const auto word = load(at);
    if (!word) break;
    const RemoteAddr returns_to{code_address(*word)};
    const ModuleDebug* const caller = modules_.find(returns_to - 1);
    const auto call = caller == nullptr ? std::nullopt : call_before(caller->module(), returns_to);
    if (!call) continue;
    Step step = Step::from(frame, at + kWordBytes, FoundBy::Scan);
    step.to(returns_to.value, frame.state.frame_pointer());
    step.is_certain = function && call->target == function->address;
    if (step.is_certain) {
      // Restore the pushed registers: the caller may need them, if its own frame is at a distance
      // from its frame pointer.
      for (const PushedRegister& one :
           pushed_at_start(here->module(), function->address, RemoteAddr{frame.state.pc()})) {
        step.caller.set(one.number, load(at - one.below));
      }
      return step;
    }
    if (!first) first = step;
    if (!call->target) break;
  }
  return first;
}

// The code address in a word. Programs of aarch64 may sign return addresses, in the bits above
// those of an address. The number of bits of an address depends on the kernel.
std::uint64_t Unwinder::code_address(std::uint64_t word) const {
  constexpr std::array<unsigned, 4> kAddressBits = {48, 47, 42, 39};
  if (word >> kAddressBits.back() == 0 || is_code(RemoteAddr{word - 1})) return word;
  for (const unsigned bits : kAddressBits) {
    const std::uint64_t address = word & ((std::uint64_t{1} << bits) - 1);
    if (is_code(RemoteAddr{address - 1})) return address;
  }
  return word;
}

std::optional<std::uint64_t> Unwinder::load(std::uint64_t at) const {
  const auto word = memory_.read_as<std::uint64_t>(RemoteAddr{at});
  return word ? std::optional(*word) : std::nullopt;
}

Result<MachineState> suspended_fiber(const MemoryReader& memory,
                                     RemoteAddr stack_pointer,
                                     std::uint16_t machine) {
  MachineState state(machine);
  const auto saved = saved_by_fiber(machine);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const auto word = HA_TRY(memory.read_as<std::uint64_t>(stack_pointer + i * kWordBytes));
    if (saved[i]) state.set(*saved[i], word);
  }
  state.set_sp(stack_pointer.value + saved.size() * kWordBytes);
  return state;
}

}  // namespace heapattach::unwind
