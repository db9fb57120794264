#include "symbols/unwind/stacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>

#include "attach/memory/memory_reader.h"
#include "attach/sandbox/sandbox.h"
#include "attach/stop/kernel_worker.h"
#include "symbols/elf/file_share.h"
#include "symbols/elf/machine.h"
#include "symbols/unwind/local_types.h"
#include "symbols/unwind/places.h"
#include "symbols/unwind/samples.h"
#include "symbols/unwind/stack_bytes.h"
#include "symbols/unwind/unwind.h"

namespace heapattach::unwind {

namespace {

// Reads small values through a cached copy of the most recently used page, because a walk reads a
// stack a few words at a time. For use by one thread.
class StackWindow final : public MemoryReader {
 public:
  explicit StackWindow(const MemoryReader& memory) : memory_(memory) {}

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

 private:
  static constexpr std::uint64_t kBytes = 1024;

  const MemoryReader& memory_;
  mutable std::array<std::byte, kBytes> copy_{};
  mutable Range range_{};  // the range copied to the cache
};

Result<std::size_t> StackWindow::read_some(RemoteAddr from, std::span<std::byte> into) const {
  if (!range_.contains(from)) {
    if (into.size() > kBytes) return memory_.read_some(from, into);
    range_ = {};
    const std::size_t bytes = HA_TRY(memory_.read_some(from, copy_));
    range_ = {from, bytes};
  }
  const std::uint64_t offset = from - range_.start;
  const std::size_t bytes = std::min<std::size_t>(into.size(), range_.bytes - offset);
  std::memcpy(into.data(), copy_.data() + offset, bytes);
  return bytes;
}

constexpr std::uint64_t kMostOutput = std::uint64_t{256} << 20;

// Collects the worker's output, so that it is written in a few large pieces.
class Gathered {
 public:
  explicit Gathered(SandboxOutput& output) : output_(output) {}

  void add(const std::vector<std::byte>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    if (bytes_.size() >= kPiece) flush();
  }
  void flush() {
    output_.write(bytes_);
    bytes_.clear();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{256} << 10;
  SandboxOutput& output_;
  std::vector<std::byte> bytes_;
};

StackRecord record_of(const WalkedStack& walked) {
  StackRecord record;
  record.end = walked.end;
  record.left_out = walked.left_out;
  record.left_out_behind = static_cast<std::uint32_t>(walked.left_out_behind);
  for (const Frame& frame : walked.frames) {
    record.frames.push_back({.pc = frame.pc(),
                             .stack_pointer = {frame.state.sp()},
                             .cfa = {frame.cfa.value_or(0)},
                             .found_by = frame.found_by});
  }
  return record;
}

// Reads the copy of one stack, and no other memory.
class SampledStack final : public MemoryReader {
 public:
  void set(const StackSample& sample) {
    begin_ = RemoteAddr{sample.registers.sp()};
    bytes_ = sample.stack;
  }
  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    const std::uint64_t offset = from - begin_;
    if (offset >= bytes_.size()) return Error{ErrorKind::Fault, "it is not in the copy"};
    const std::size_t count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
  }

 private:
  RemoteAddr begin_;
  std::span<const std::byte> bytes_;
};

// The work of the worker.
class StackFinder {
 public:
  StackFinder(const Modules& modules,
              const MemoryReader& capture,
              const StackOwners& owners,
              const StackLimits& limits)
      : machine_(machine_of(modules)),
        debugs_(modules),
        memory_(capture),
        unwinder_(debugs_, memory_, owners.map, owners.generated),
        locals_(debugs_, capture),
        limits_(limits) {}

  void find(const StackOwners& owners, Gathered& gathered) {
    for (const FrozenThread& thread : owners.threads) {
      if (!thread.registers || is_kernel_worker(*thread.registers)) continue;
      FoundStack found;
      found.stack.thread = thread.tid;
      walk(MachineState(machine_, *thread.registers), true, found);
      gathered.add(to_bytes(found));
    }
    for (const crystal::FiberStack& fiber : owners.fibers) {
      if (fiber.is_running) continue;
      const auto state = suspended_fiber(memory_, fiber.stack.start, machine_);
      if (!state) continue;
      FoundStack found;
      found.stack.fiber = fiber.object.value;
      walk(*state, false, found);
      gathered.add(to_bytes(found));
    }
    if (!limits_.with_places) return;
    Places places(debugs_, limits_.with_library_lines);
    for (const std::uint64_t pc : instructions_) {
      const GeneratedFunction* const function = function_at(owners.generated, RemoteAddr{pc});
      CodePlaces at{RemoteAddr{pc}, {}};
      if (function != nullptr) {
        at.places.emplace_back().function = function->name;
      } else {
        at.places = places.of(RemoteAddr{pc});
      }
      gathered.add(to_bytes(at));
    }
  }

 private:
  void walk(const MachineState& innermost, bool is_exact, FoundStack& found) {
    const WalkedStack walked = unwinder_.walk(innermost, is_exact, limits_.frames);
    const auto owner = std::pair(found.stack.thread, found.stack.fiber);
    found.stack = record_of(walked);
    std::tie(found.stack.thread, found.stack.fiber) = owner;
    std::uint32_t number = 0;
    for (const Frame& frame : walked.frames) {
      instructions_.insert(frame.pc().value);
      if (limits_.with_locals) {
        for (Local& local : locals_.of(frame)) found.locals.push_back({std::move(local), number});
      }
      ++number;
    }
  }

  std::uint16_t machine_;
  ModuleDebugs debugs_;
  StackWindow memory_;
  Unwinder unwinder_;
  Locals locals_;
  const StackLimits& limits_;
  std::unordered_set<std::uint64_t> instructions_;
};

void add(const FoundStack& found, types::TypeModel& model, Stacks& stacks) {
  for (const FoundLocal& found_local : found.locals) {
    const Local& local = found_local.local;
    types::Variable variable;
    variable.name = local.name;
    variable.type = type_of_local(local.type, model);
    variable.thread = found.stack.thread;
    variable.fiber = found.stack.fiber;
    variable.frame = found_local.frame;
    variable.inlined = local.inlined;
    if (variable.type == types::kNoType) continue;
    if (local.is_value) {
      variable.value = local.at;
    } else {
      variable.address = RemoteAddr{local.at};
    }
    stacks.locals.push_back(std::move(variable));
  }
  stacks.stacks.push_back(found.stack);
}

SandboxLimits walls_for(const Modules& modules,
                        std::chrono::milliseconds time,
                        const Deadline& deadline) {
  SandboxLimits walls;
  walls.time = time;
  walls.deadline = deadline;
  walls.output_bytes = kMostOutput;
  std::uint64_t file_bytes = 0;
  for (const Module& module : modules.all()) {
    if (module.file().get() >= 0) walls.descriptors.push_back(module.file().get());
    if (module.debug_file().get() < 0) continue;
    walls.descriptors.push_back(module.debug_file().get());
    file_bytes += stored_bytes(module.debug_file());
  }
  walls.memory_bytes = memory_to_read(file_bytes);
  return walls;
}

std::string summary(const Stacks& stacks) {
  std::size_t frames = 0;
  std::size_t corrupt = 0;
  for (const StackRecord& stack : stacks.stacks) {
    frames += stack.frames.size();
    if (stack.end == StackEnd::Corrupt) ++corrupt;
  }
  return fmt::format("{} frames on {} stacks, {} of them corrupt; {} variables with a type", frames,
                     stacks.stacks.size(), corrupt, stacks.locals.size());
}

}  // namespace

std::span<const Place> Stacks::places_of(RemoteAddr pc) const {
  const auto found = std::partition_point(places.begin(), places.end(),
                                          [pc](const CodePlaces& at) { return at.pc < pc; });
  if (found == places.end() || found->pc != pc) return {};
  return found->places;
}

Result<Stacks> walk_stacks(const Modules& modules,
                           types::TypeModel& model,
                           const MemoryReader& capture,
                           const StackOwners& owners,
                           const StackLimits& limits) {
  const SandboxLimits walls = walls_for(modules, limits.time, limits.deadline);
  const auto work = [&](SandboxOutput& output) {
    Gathered gathered(output);
    StackFinder(modules, capture, owners, limits).find(owners, gathered);
    gathered.flush();
  };
  SandboxResult result = HA_TRY(run_sandboxed(work, walls));
  Stacks stacks;
  stacks.notes = std::move(result.notes);
  std::span<const std::byte> rest = result.output;
  while (!rest.empty()) {
    FoundPart part = HA_TRY(take_part(rest));
    if (auto* const places = std::get_if<CodePlaces>(&part)) {
      stacks.places.push_back(std::move(*places));
    } else {
      add(std::get<FoundStack>(part), model, stacks);
    }
  }
  std::sort(stacks.places.begin(), stacks.places.end(),
            [](const CodePlaces& a, const CodePlaces& b) { return a.pc < b.pc; });
  stacks.notes.push_back(summary(stacks));
  return stacks;
}

Result<std::vector<StackRecord>> walk_samples(const Modules& modules,
                                              std::span<const StackSample> samples,
                                              const FrameLimits& limits,
                                              std::chrono::milliseconds time,
                                              const Deadline& deadline) {
  const auto work = [&](SandboxOutput& output) {
    ModuleDebugs debugs(modules);
    SampledStack stack;
    Unwinder unwinder(debugs, stack);
    Gathered gathered(output);
    for (const StackSample& sample : samples) {
      stack.set(sample);
      FoundStack found;
      found.stack = record_of(unwinder.walk(sample.registers, false, limits));
      gathered.add(to_bytes(found));
    }
    gathered.flush();
  };
  const SandboxResult result = HA_TRY(run_sandboxed(work, walls_for(modules, time, deadline)));
  std::vector<StackRecord> found;
  found.reserve(samples.size());
  std::span<const std::byte> rest = result.output;
  while (!rest.empty()) {
    FoundPart part = HA_TRY(take_part(rest));
    if (auto* const stack = std::get_if<FoundStack>(&part)) {
      found.push_back(std::move(stack->stack));
    }
  }
  if (found.size() == samples.size()) return found;
  return Error{ErrorKind::Malformed, "not all stacks were walked in time"};
}

Result<std::vector<CodePlaces>> find_places(const Modules& modules,
                                            std::span<const RemoteAddr> instructions,
                                            std::chrono::milliseconds time,
                                            const Deadline& deadline) {
  const auto work = [&](SandboxOutput& output) {
    ModuleDebugs debugs(modules);
    Places places(debugs);
    Gathered gathered(output);
    for (const RemoteAddr pc : instructions) gathered.add(to_bytes(CodePlaces{pc, places.of(pc)}));
    gathered.flush();
  };
  const SandboxResult result = HA_TRY(run_sandboxed(work, walls_for(modules, time, deadline)));
  std::vector<CodePlaces> found;
  std::span<const std::byte> rest = result.output;
  while (!rest.empty()) {
    FoundPart part = HA_TRY(take_part(rest));
    if (auto* const places = std::get_if<CodePlaces>(&part)) found.push_back(std::move(*places));
  }
  std::sort(found.begin(), found.end(),
            [](const CodePlaces& a, const CodePlaces& b) { return a.pc < b.pc; });
  return found;
}

}  // namespace heapattach::unwind
