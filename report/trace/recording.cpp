#include "report/trace/recording.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "inject/trace/arch/recorded_registers.h"
#include "inject/trace/blob.h"
#include "report/stacks/crystal_library.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::trace {

namespace {

// The most events that wait for their fibers.
constexpr std::size_t kMostUnsettled = 200'000;
// Waiting copies of stacks are unwound when they take this much memory.
constexpr std::size_t kMostWaiting = std::size_t{96} << 20;
// Work with less time than this is not begun.
constexpr std::chrono::milliseconds kShortestWalk{50};
// The number of records between looks at the clock.
constexpr int kBetweenLooks = 64;
// The number of parts in which stacks are unwound. If one part takes too long, only that part is
// lost.
constexpr std::size_t kParts = 8;
// Nothing reads the ring during a walk while the target records. A walk may be followed by a search
// for names.
constexpr std::chrono::milliseconds kLongestWhileRecording{8'000};
static_assert(2 * kLongestWhileRecording < kReaderPatience);
// How many frames can be between the collector and the code that makes an object: in a program that
// is not optimised, the runtime's functions that call the allocator.
constexpr std::size_t kWrappers = 3;
// The most frames of one stack; more are a runaway recursion.
constexpr std::size_t kMostFrames = 1024;
// The memory of a sample, besides its event, while the report finds out which are in use
// (LiveSamples), and the additional memory of a sample of 4 GiB or more.
constexpr std::size_t kForSample = 36;
constexpr std::size_t kForLargeSample = 64;
// An entry of in_use_, which keeps the memory that it has once taken.
constexpr std::size_t kForFollowed = 32;
constexpr std::uint64_t kLargeSample = std::uint64_t{1} << 32;
// The memory, in the recording and in the trace, of a thread, a copy of a stack, a stack, each of
// its frames, and an instruction with its names.
constexpr std::size_t kForThread = 256;
constexpr std::size_t kForCopy = 64;
constexpr std::size_t kForStack = 400;
constexpr std::size_t kForFrame = 32;
constexpr std::size_t kForInstruction = 512;

using Clock = std::chrono::steady_clock;

// Between 0 and a day, so that it fits in milliseconds.
std::chrono::milliseconds time_until(Clock::time_point until) {
  constexpr std::chrono::hours kMost{24};
  const auto left = std::clamp<Clock::duration>(until - Clock::now(), Clock::duration(0), kMost);
  return std::chrono::duration_cast<std::chrono::milliseconds>(left);
}

std::uint64_t key_of(const Ring::Entry& entry) {
  const RingRecord& record = entry.record;
  const auto registers =
      std::as_bytes(std::span(&record, 1)).subspan(offsetof(RingRecord, returns_to));
  const auto as_text = [](std::span<const std::byte> bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;
  const std::hash<std::string_view> hash;
  return hash(as_text(registers)) * kMix ^ hash(as_text(entry.stack));
}

// The registers of the caller that a record has, by their DWARF numbers.
unwind::MachineState caller_of(const RingRecord& record) {
  unwind::MachineState caller;
  for (const RecordedRegister& one : recorded_registers(record)) caller.set(one.number, one.value);
  caller.set_frame_pointer(record.frame_pointer);
  caller.set_sp(record.stack_pointer);
  caller.set_pc(record.returns_to);
  return caller;
}

unwind::StackSample sample_of(const Ring::Entry& entry) {
  unwind::StackSample sample;
  sample.registers = caller_of(entry.record);
  sample.stack.assign(entry.stack.begin(), entry.stack.end());
  return sample;
}

// The thread that the target calls `number`; it may have its own numbers (a pid namespace).
std::string name_of_thread(const Process& target, std::uint32_t number) {
  const auto state = target.thread_state(static_cast<pid_t>(number));
  return state ? state->name : std::string();
}

// Whether a program can have made this record. Anyone who writes to the ring can make others, too.
bool is_possible(const RingRecord& record) {
  constexpr std::uint64_t kAlignment = 8;
  const auto is_address = [](std::uint64_t at) { return at != 0 && at < kUsualAddressEnd; };
  if (!is_address(record.address) || record.address % kAlignment != 0) return false;
  return record.what != kRecordAllocated ||
         (record.size < kUsualAddressEnd && record.hook < kAllocationHooks &&
          is_address(record.stack_pointer));
}

bool is_collector(std::string_view function) {
  return function.starts_with("GC_");
}

bool is_runtime_library(std::string_view object) {
  constexpr std::string_view kNames[] = {"libc.so", "libstdc++.so", "libpthread.so", "ld-linux",
                                         "libm.so", "ld-musl",      "libgcc_s.so",   "libc++.so"};
  return std::ranges::any_of(kNames, [&](std::string_view n) { return object.starts_with(n); });
}

// Decides whose code a frame is in.
class Owners {
 public:
  Owners(const Modules& modules, const std::vector<unwind::CodePlaces>& places)
      : program_(modules.main_program()) {
    std::vector<std::string_view> files;
    for (const unwind::CodePlaces& at : places) {
      for (const unwind::Place& place : at.places) files.push_back(place.file);
    }
    library_ = stacks::CrystalLibrary::of_files(files);
  }

  [[nodiscard]] Whose of(const Module* module, const unwind::Place& place) const {
    if (is_collector(place.function)) return Whose::Collector;
    if (module == nullptr) return Whose::Library;
    if (module->name().starts_with("libgc.so")) return Whose::Collector;
    if (module != program_) {
      return is_runtime_library(module->name()) ? Whose::Runtime : Whose::Library;
    }
    const bool is_of_crystal = library_.is_crystal() && (!library_.name_of(place.file).empty() ||
                                                         !library_.name_of(place.home).empty());
    const bool is_start = place.function == "_start" || place.function.starts_with("__crystal_");
    return is_of_crystal || is_start ? Whose::Runtime : Whose::Own;
  }

 private:
  const Module* program_;
  stacks::CrystalLibrary library_;
};

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

Recording::Recording(const Process& target,
                     const Modules& modules,
                     std::size_t depth,
                     std::uint64_t began)
    : target_(target), modules_(modules), depth_(depth), began_(began) {}

Result<bool> Recording::drain(Ring& ring, Clock::time_point until) {
  bool is_any = false;
  for (int i = 1;; ++i) {
    if (is_full() || (i % kBetweenLooks == 0 && Clock::now() >= until)) return is_any;
    const auto entry = HA_TRY(ring.front());
    if (!entry) {
      if (type_watch_ != nullptr) type_watch_->advance(ring, monotonic_ns());
      if (fibers_ == nullptr || fibers_->is_due()) settle();
      return is_any;
    }
    is_any = true;
    take(*entry);
    ring.pop();
    if (unsettled_.size() - with_fiber_ >= kMostUnsettled) {
      if (type_watch_ != nullptr) type_watch_->advance(ring, monotonic_ns());
      settle();
    }
    if (waiting_.bytes() < kMostWaiting || longest_walk() < kShortestWalk) continue;
    ring.beat();
    HA_TRY(unwind(waiting_.batch(), longest_walk()));
    ring.beat();
  }
}

std::uint64_t Recording::drain_rest(Ring& ring, Clock::time_point until) {
  std::uint64_t lost = 0;
  for (bool is_late = false;;) {
    const auto entry = ring.front();
    if (!entry || !*entry) return lost;
    is_late = is_late || is_full() || Clock::now() >= until;
    if (!is_late) take(**entry);
    if (is_late && (*entry)->record.what == kRecordAllocated) ++lost;
    ring.pop();
  }
}

// The time for one walk while the target records.
std::chrono::milliseconds Recording::longest_walk() const {
  return std::min(kLongestWhileRecording, time_until(end_));
}

std::size_t Recording::memory_bytes() const {
  return events_.memory_bytes() + unsettled_.size() * sizeof(Unsettled) + samples_ * kForSample +
         most_followed_ * kForFollowed + other_bytes_;
}

void Recording::take(Ring::Entry entry) {
  RingRecord& record = entry.record;
  if (!is_possible(record)) {
    ++impossible_;
    return;
  }
  if (record.what == kRecordNothing || is_unknown_end(record)) return;
  // An event with a time in the future would never be handled.
  record.time = std::min(record.time, monotonic_ns());
  if (record.what == kRecordForgotten) {
    if (type_watch_ != nullptr) type_watch_->end(record.address);
    ++forgotten_;
    return;
  }
  Event event;
  event.time_ns = record.time > began_ ? record.time - began_ : 0;
  event.address = record.address;
  const bool is_kept = record.what == kRecordAllocated && !leaves_out_new_;
  if (is_kept) {
    ++samples_;
    if (record.size >= kLargeSample) other_bytes_ += kForLargeSample;
    event.thread = thread_of(record.thread);
    event.bytes = record.size;
    event.stack = copy_of(entry);
    event.collection = record.collection;
  } else if (record.what == kRecordFreed || record.what == kRecordAllocated) {
    event.kind = EventKind::Free;  // a new sample is left out, but ends the one that was there
  } else {
    event.kind = EventKind::Dead;
    event.collection = record.collection;
  }
  if (fibers_ == nullptr && type_watch_ == nullptr) {
    events_.add(event);
    return;
  }
  std::uint64_t watched = 0;
  if (type_watch_ != nullptr) {
    if (is_kept) watched = type_watch_->add(record);
    if (!is_kept) type_watch_->end(record.address);
  }
  unsettled_.push_back({event, is_kept ? record.stack_pointer : 0, watched});
}

bool Recording::is_unknown_end(const RingRecord& record) {
  if (!in_use_) return false;
  if (record.what == kRecordAllocated) {
    if (!in_use_->put(record.address, {})) most_followed_ = std::max(most_followed_, ++followed_);
    return false;
  }
  if (!in_use_->remove(record.address)) return true;
  --followed_;
  return false;
}

void Recording::settle() {
  if (fibers_ != nullptr) {
    fibers_->look();
    for (std::size_t i = with_fiber_; i < unsettled_.size(); ++i) {
      Unsettled& one = unsettled_[i];
      if (one.stack_pointer != 0) one.event.fiber = fibers_->fiber_at(one.stack_pointer);
    }
  }
  with_fiber_ = unsettled_.size();
  release(false);
}

// Moves events to the log: all, or those before the first one about which more may be learned.
void Recording::release(bool with_all) {
  while (with_fiber_ != 0) {
    Unsettled& one = unsettled_.front();
    if (one.watched != 0) {
      if (!with_all && !type_watch_->is_done(one.watched)) return;
      const std::string type = type_watch_->take(one.watched);
      if (!type.empty()) one.event.type = number_of_type(type);
    }
    events_.add(one.event);
    unsettled_.pop_front();
    --with_fiber_;
  }
}

std::uint32_t Recording::thread_of(std::uint32_t number) {
  const auto [at, is_new] =
      thread_numbers_.try_emplace(number, static_cast<std::uint32_t>(threads_.size()));
  if (is_new) {
    other_bytes_ += kForThread;
    threads_.push_back(
        {.tid = static_cast<pid_t>(number), .name = name_of_thread(target_, number)});
  }
  return at->second;
}

std::uint32_t Recording::type_of(std::uint64_t caller) {
  const auto [at, is_new] = type_by_caller_.try_emplace(caller, kNone);
  if (!is_new) return at->second;
  const auto name = type_names_.find(caller);
  if (name == type_names_.end() || name->second.empty()) return kNone;
  return at->second = number_of_type(name->second);
}

std::uint32_t Recording::number_of_type(const std::string& name) {
  const auto [type, is_first] =
      type_numbers_.try_emplace(name, static_cast<std::uint32_t>(types_.size()));
  if (is_first) types_.push_back({.name = name});
  return type->second;
}

std::uint32_t Recording::copy_of(const Ring::Entry& entry) {
  const auto [at, is_new] =
      copy_numbers_.try_emplace(key_of(entry), static_cast<std::uint32_t>(copies_.size()));
  if (!is_new) return at->second;
  other_bytes_ += kForCopy;
  copies_.push_back(kNone);
  waiting_.add(sample_of(entry));
  return at->second;
}

Result<void> Recording::unwind(std::span<const unwind::StackSample> oldest,
                               std::chrono::milliseconds longest) {
  if (oldest.empty()) return {};
  const unwind::FrameLimits limits{.innermost = depth_ == 0 ? kMostFrames : depth_,
                                   .outermost = 0,
                                   .followed = depth_ == 0 ? kMostFrames : depth_ + 1};
  const std::uint64_t began = monotonic_ns();
  const auto walked = unwind::walk_samples(modules_, oldest, limits, longest, deadline_);
  // Nothing is lost: the copies wait for the end of the trace.
  if (!walked && walked.error().kind == ErrorKind::Interrupted) return walked.error();
  if (!walked && Clock::now() >= end_ - kShortestWalk) return {};
  const std::size_t first = copies_.size() - waiting_.size();
  if (walked) {
    for (std::size_t i = 0; i < walked->size(); ++i) copies_[first + i] = stack_of((*walked)[i]);
  } else {
    not_unwound_ += oldest.size();
  }
  waiting_.remove(oldest.size(), std::chrono::nanoseconds(monotonic_ns() - began));
  return {};
}

bool Recording::is_waiting(const Event& event) const {
  return event.stack != kNone && event.stack >= copies_.size() - waiting_.size();
}

std::uint32_t Recording::stack_of(const unwind::StackRecord& record) {
  StackKey key;
  for (const unwind::FrameRecord& frame : record.frames) key.push_back(frame.pc.value);
  // The innermost call that makes an object, or the call of a wrapper around the allocator.
  std::uint32_t type = kNone;
  for (std::size_t i = 0; i < key.size() && i < kWrappers && type == kNone; ++i) {
    type = type_of(key[i] + 1);
  }
  const bool is_truncated = record.end != unwind::StackEnd::Outermost || record.left_out != 0;
  const auto [at, is_new] =
      stack_numbers_.try_emplace({key, is_truncated}, static_cast<std::uint32_t>(stacks_.size()));
  if (!is_new) return at->second;
  const std::size_t known = instructions_.size();
  instructions_.insert(key.begin(), key.end());
  other_bytes_ +=
      kForStack + key.size() * kForFrame + (instructions_.size() - known) * kForInstruction;
  stacks_.push_back({std::move(key), is_truncated, type});
  return at->second;
}

void Recording::learn_places(const std::vector<RemoteAddr>& pcs,
                             std::chrono::milliseconds longest) {
  std::vector<RemoteAddr> unknown;
  for (const RemoteAddr pc : pcs) {
    if (!places_.contains(pc.value)) unknown.push_back(pc);
  }
  if (unknown.empty()) return;
  has_names_ = false;
  if (longest < kShortestWalk) return;
  auto found = unwind::find_places(modules_, unknown, longest, deadline_);
  if (!found) return;
  has_names_ = true;
  for (const RemoteAddr pc : unknown) places_[pc.value];
  for (unwind::CodePlaces& at : *found) places_[at.pc.value] = std::move(at.places);
}

// Returns the frames of each instruction.
std::vector<std::vector<std::uint32_t>> Recording::name_frames(Trace& trace,
                                                               const std::vector<RemoteAddr>& pcs) {
  std::vector<unwind::CodePlaces> places;
  for (const auto& [pc, at] : places_) places.push_back({RemoteAddr{pc}, at});
  const Owners owners(modules_, places);
  std::vector<std::vector<std::uint32_t>> frames;
  for (const RemoteAddr pc : pcs) {
    const auto known = places_.find(pc.value);
    std::vector<unwind::Place> here;
    if (known != places_.end()) here = known->second;
    if (here.empty()) here.emplace_back();
    const Module* const module = modules_.find(pc);
    auto& numbers = frames.emplace_back();
    for (const unwind::Place& place : here) {
      numbers.push_back(static_cast<std::uint32_t>(trace.frames.size()));
      trace.frames.push_back({.function = place.function,
                              .object = module == nullptr ? std::string() : module->name(),
                              .file = place.file,
                              .line = place.line,
                              .address = pc.value,
                              .whose = owners.of(module, place)});
    }
  }
  return frames;
}

void Recording::put_stacks(Trace& trace, std::chrono::milliseconds longest) {
  std::vector<RemoteAddr> pcs;
  std::unordered_map<std::uint64_t, std::size_t> numbers;
  for (const std::uint64_t pc : instructions_) {
    numbers.emplace(pc, pcs.size());
    pcs.push_back(RemoteAddr{pc});
  }
  learn_places(pcs, longest);
  const auto frames = name_frames(trace, pcs);
  for (const Found& found : stacks_) {
    Stack stack;
    stack.is_truncated = found.is_truncated;
    for (const std::uint64_t pc : found.frames) {
      const auto& all = frames[numbers.at(pc)];
      stack.frames.insert(stack.frames.end(), all.begin(), all.end());
    }
    trace.stacks.push_back(std::move(stack));
  }
  trace.threads = threads_;
  trace.types = types_;
  if (fibers_ != nullptr) trace.fibers = fibers_->fibers();
}

// Replaces the number of a copy by its stack, and adds the type that is made there, if known.
void Recording::complete(Event& event) const {
  if (event.stack != kNone) event.stack = copies_[event.stack];
  if (event.stack == kNone || stacks_[event.stack].type == kNone) return;
  event.type = stacks_[event.stack].type;
}

Result<void> Recording::show(Trace& trace, CellCounter& counter) {
  settle();
  if (longest_walk() >= kShortestWalk) HA_TRY(unwind(waiting_.batch(), longest_walk()));
  put_stacks(trace, longest_walk());
  EventLog::Reader ahead = shown_;
  for (Event event; ahead.next(event) && !is_waiting(event); shown_ = ahead) {
    complete(event);
    counter.add(event);
  }
  return {};
}

Result<void> Recording::finish(Trace& trace, Clock::time_point until) {
  settle();
  release(true);
  end_ = Clock::time_point::max();
  has_names_ = true;
  // Keeps a third of the time for finding names.
  const auto unwound_by = until - time_until(until) / 3;
  const std::size_t part = std::max(waiting_.batch().size(), waiting_.size() / kParts + 1);
  while (waiting_.size() != 0 && time_until(unwound_by) >= kShortestWalk) {
    HA_TRY(unwind(waiting_.all().first(std::min(part, waiting_.size())), time_until(unwound_by)));
  }
  not_unwound_ += waiting_.size();
  put_stacks(trace, time_until(until));
  EventLog::Reader reader(events_);
  for (Event event; reader.next(event);) {
    complete(event);
    trace.events.add(event);
    events_.forget_read(reader);
  }
  return {};
}

}  // namespace heapattach::trace
