#include "symbols/stack/unwind.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

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

// Its own tables describe it too, but not all C libraries have any.
bool is_signal_return(const ModuleDebug& debug, const Frame& frame) {
  const auto code = debug.module().file_bytes(RemoteAddr{frame.state.pc()});
  if (code.size() < kSignalReturn.size()) return false;
  for (std::size_t i = 0; i < kSignalReturn.size(); ++i) {
    if (code[i] != std::byte{kSignalReturn[i]}) return false;
  }
  return true;
}

// The frames of one stack: the innermost, and of the others the last ones.
class KeptFrames {
 public:
  explicit KeptFrames(const FrameLimits& limits) : limits_(limits) {}

  void add(Frame frame) {
    ++count_;
    if (first_.size() < std::max<std::size_t>(1, limits_.innermost)) {
      first_.push_back(std::move(frame));
    } else {
      last_.push_back(std::move(frame));
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

}  // namespace

struct Unwinder::Step {
  MachineState caller{};
  std::optional<std::uint64_t> cfa{};
  FoundBy found_by = FoundBy::FrameTables;
  bool has_caller = true;
  bool is_exact = false;  // the caller was interrupted: it called nothing

  static Step to(std::uint64_t cfa,
                 std::uint64_t pc,
                 std::optional<std::uint64_t> frame_pointer,
                 FoundBy found_by) {
    Step step{.cfa = cfa, .found_by = found_by};
    step.caller.set(MachineState::kFramePointer, frame_pointer);
    step.caller.set(MachineState::kStackPointer, cfa);
    step.caller.set(MachineState::kReturnAddress, pc);
    return step;
  }
};

WalkedStack Unwinder::walk(const MachineState& innermost,
                           bool is_exact,
                           const FrameLimits& limits) {
  signal_frames_ = 0;
  KeptFrames kept(limits);
  kept.add({.state = innermost, .is_exact = is_exact});
  while (true) {
    Frame& frame = kept.back();
    const auto step = next(frame, kept.count() == 1);
    if (step) frame.cfa = step->cfa;
    if (const auto end = end_at(frame, step)) return kept.take(*end);
    if (kept.count() >= limits.followed) return kept.take(StackEnd::Limit);
    kept.add({.state = step->caller, .is_exact = step->is_exact, .found_by = step->found_by});
  }
}

std::optional<StackEnd> Unwinder::end_at(const Frame& frame, const std::optional<Step>& step) {
  if (!step) return modules_.is_code(frame.pc()) ? StackEnd::Unknown : StackEnd::Corrupt;
  if (!step->has_caller || step->caller.pc() == 0) return StackEnd::Outermost;
  if (step->is_exact && ++signal_frames_ <= kMostSignalFrames) return {};
  // A thread's first frame may have no more than its return address between it and its caller.
  const bool leads_up = step->caller.sp() > frame.state.sp();
  if (!leads_up || !modules_.is_code(RemoteAddr{step->caller.pc() - 1})) return StackEnd::Corrupt;
  return {};
}

std::optional<Unwinder::Step> Unwinder::next(const Frame& frame, bool is_innermost) {
  if (ModuleDebug* debug = modules_.find(frame.pc()); debug != nullptr) {
    // Tables of the function before it may seem to cover it.
    const auto [known, is_new] = signal_returns_.try_emplace(frame.state.pc(), false);
    if (is_new) known->second = is_signal_return(*debug, frame);
    if (known->second) return by_signal_frame(frame);
    if (auto step = by_tables(*debug, frame)) return step;
  }
  if (auto step = by_frame_pointer(frame)) return step;
  return is_innermost ? by_scan(frame) : std::nullopt;
}

std::optional<Unwinder::Step> Unwinder::by_signal_frame(const Frame& frame) const {
  Step step{.found_by = FoundBy::SignalFrame, .is_exact = true};
  const RemoteAddr saved = RemoteAddr{frame.state.sp()} + kSavedAt;
  for (std::size_t i = 0; i < kSavedByKernel.size(); ++i) {
    const auto word = load((saved + i * kWord).value);
    if (!word) return {};
    step.caller.set(kSavedByKernel[i], *word);
  }
  step.cfa = step.caller.sp();
  return step;
}

std::optional<Unwinder::Step> Unwinder::by_tables(ModuleDebug& debug, const Frame& frame) {
  const FrameRule* const rule = rules_.at(debug, frame.pc());
  if (rule == nullptr) return {};
  const auto cfa = rule->cfa(frame.state, memory_);
  if (!cfa) return {};
  Step step{.cfa = *cfa, .is_exact = rule->is_signal_frame()};
  for (std::size_t number = 0; number < MachineState::kCount; ++number) {
    step.caller.set(number, rule->restored(number, frame.state, memory_, *cfa));
  }
  // The stack pointer is the CFA, unless the tables say how else to restore it.
  if (!step.caller.at(MachineState::kStackPointer)) {
    step.caller.set(MachineState::kStackPointer, *cfa);
  }
  step.has_caller = step.caller.at(MachineState::kReturnAddress).has_value();
  return step;
}

std::optional<Unwinder::Step> Unwinder::by_frame_pointer(const Frame& frame) {
  const auto base = frame.state.at(MachineState::kFramePointer);
  if (!base || *base % kWord != 0 || *base < frame.state.sp()) return {};
  const auto saved = load(*base);
  const auto returns_to = load(*base + kWord);
  if (!saved || !returns_to || !modules_.is_code(RemoteAddr{*returns_to - 1})) return {};
  return Step::to(*base + 2 * kWord, *returns_to, *saved, FoundBy::FramePointer);
}

// Code without tables, stopped in before it made a frame.
std::optional<Unwinder::Step> Unwinder::by_scan(const Frame& frame) {
  for (std::size_t i = 0; i < kScannedWords; ++i) {
    const std::uint64_t at = frame.state.sp() + i * kWord;
    const auto word = load(at);
    if (!word) return {};
    if (!modules_.is_code(RemoteAddr{*word - 1})) continue;
    return Step::to(at + kWord, *word, frame.state.at(MachineState::kFramePointer), FoundBy::Scan);
  }
  return {};
}

std::optional<std::uint64_t> Unwinder::load(std::uint64_t at) const {
  const auto word = memory_.read_as<std::uint64_t>(RemoteAddr{at});
  return word ? std::optional(*word) : std::nullopt;
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
