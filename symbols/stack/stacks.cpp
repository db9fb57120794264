#include "symbols/stack/stacks.h"

#include <fmt/format.h>

#include "attach/sandbox.h"
#include "symbols/stack/local_types.h"
#include "symbols/stack/stack_bytes.h"

namespace heapattach::stack {

namespace {

constexpr std::uint64_t kWorkerMemory = std::uint64_t{4} << 30;
constexpr std::uint64_t kMostOutput = std::uint64_t{256} << 20;

// What goes on in the worker.
class StackFinder {
 public:
  StackFinder(const Modules& modules, const MemoryReader& capture, std::size_t most_frames)
      : debugs_(modules), locals_(debugs_, capture), capture_(capture), most_frames_(most_frames) {}

  void find(const StackOwners& owners, SandboxOutput& output) {
    for (const FrozenThread& thread : owners.threads) {
      if (!thread.registers) continue;
      FoundStack found;
      found.stack.thread = thread.tid;
      walk(MachineState(*thread.registers), true, found);
      output.write(to_bytes(found));
    }
    for (const crystal::FiberStack& fiber : owners.fibers) {
      if (fiber.is_running) continue;
      const auto state = suspended_fiber(capture_, fiber.stack.start);
      if (!state) continue;
      FoundStack found;
      found.stack.fiber = fiber.object.value;
      walk(*state, false, found);
      output.write(to_bytes(found));
    }
  }

 private:
  void walk(const MachineState& innermost, bool is_exact, FoundStack& found) {
    const WalkedStack walked = unwind(debugs_, capture_, innermost, is_exact, most_frames_);
    found.stack.end = walked.end;
    std::uint32_t number = 0;
    for (const Frame& frame : walked.frames) {
      found.stack.frames.push_back({.pc = frame.pc(),
                                    .stack_pointer = {frame.state.sp()},
                                    .cfa = {frame.cfa.value_or(0)},
                                    .found_by = frame.found_by});
      for (Local& local : locals_.of(frame)) found.locals.push_back({std::move(local), number});
      ++number;
    }
  }

  ModuleDebugs debugs_;
  Locals locals_;
  const MemoryReader& capture_;
  std::size_t most_frames_;
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

Result<Stacks> walk_stacks(const Modules& modules,
                           types::TypeModel& model,
                           const MemoryReader& capture,
                           const StackOwners& owners,
                           const StackLimits& limits) {
  SandboxLimits walls;
  walls.time = limits.time;
  walls.memory_bytes = kWorkerMemory;
  walls.output_bytes = kMostOutput;
  for (const Module& module : modules.all()) {
    if (module.file().get() >= 0) walls.descriptors.push_back(module.file().get());
    if (module.debug_file().get() >= 0) walls.descriptors.push_back(module.debug_file().get());
  }
  const auto work = [&](SandboxOutput& output) {
    StackFinder(modules, capture, limits.frames).find(owners, output);
  };
  SandboxResult result = HA_TRY(run_sandboxed(work, walls));
  Stacks stacks;
  stacks.notes = std::move(result.notes);
  std::span<const std::byte> rest = result.output;
  while (!rest.empty()) add(HA_TRY(take_stack(rest)), model, stacks);
  stacks.notes.push_back(summary(stacks));
  return stacks;
}

}  // namespace heapattach::stack
