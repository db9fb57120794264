#include "report/stacks/join_fibers.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "attach/stop/kernel_worker.h"
#include "report/stacks/contexts.h"
#include "report/stacks/fiber_waits.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/holders.h"
#include "report/stacks/named_stacks.h"
#include "symbols/unwind/arch/return_addresses.h"

namespace heapattach::stacks {

namespace {

// The names of fibers that Crystal itself starts, in all releases.
bool is_name_of_runtime(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "Fiber Clean Loop", "Signal Loop",          "Stack pool collector", "Worker Loop",
      "signal-loop",      "stack-pool-collector", "worker-loop"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whether the fiber has not run yet: a suspended fiber would continue after a call instruction.
bool is_at_start(const unwind::StackRecord& record, const Modules& modules) {
  if (record.frames.empty() || record.frames.size() > 2) return false;
  const RemoteAddr next = record.frames.front().pc + 1;
  const Module* const module = modules.find(next);
  return module != nullptr && !unwind::call_before(*module, next);
}

class Fibers {
 public:
  Fibers(const Scene& scene,
         const CrystalLibrary& library,
         Descriptors& descriptors,
         StackReport& report)
      : scene_(scene), library_(library), report_(report), waits_(scene, library, descriptors) {
    for (const unwind::StackRecord& record : scene.stacks.stacks) {
      if (record.thread != 0) by_thread_.emplace(record.thread, &record);
      if (record.fiber != 0) by_fiber_.emplace(record.fiber, &record);
    }
  }

  void add() {
    for (std::size_t i = 0; i < scene_.fibers.size(); ++i) add(i);
    name_contexts();
    name_holders();
    StackAdder stacks(scene_.stacks, {scene_.modules, library_}, report_);
    report_.groups = group_fibers(report_.fibers, records_, stacks);
  }

 private:
  void add(std::size_t index) {
    const crystal::FiberStack& fiber = scene_.fibers[index];
    FiberSeen seen;
    seen.address = fiber.object.value;
    seen.name = crystal::fiber_name(fiber, scene_.capture);
    // A literal lies outside of what was captured, and never changes.
    if (seen.name.empty()) seen.name = crystal::fiber_name(fiber, scene_.memory);
    const unwind::StackRecord* record = nullptr;
    if (fiber.is_running) {
      record = put_on_thread(index, seen);
    } else if (const auto found = by_fiber_.find(fiber.object.value); found != by_fiber_.end()) {
      record = found->second;
    }
    if (record != nullptr) add_wait(index, *record, seen);
    seen.is_of_runtime = seen.is_of_runtime || is_name_of_runtime(seen.name);
    records_.push_back(record);
    report_.fibers.push_back(std::move(seen));
  }

  void add_wait(std::size_t index, const unwind::StackRecord& record, FiberSeen& seen) {
    const WaitFrame told = wait_by_functions(record, scene_.stacks, library_);
    const bool runs = seen.thread && !report_.threads[*seen.thread].is_idle;
    seen.is_of_runtime = told.is_scheduler;
    if (told.is_scheduler) {
      seen.wait.kind = WaitKind::Scheduling;
    } else if (runs) {
      const WaitKind kind = blocked_by_functions(record, scene_.stacks);
      seen.wait.kind = kind == WaitKind::Unknown ? WaitKind::Running : kind;
    } else if (scene_.fibers[index].has_ended) {
      seen.wait.kind = WaitKind::Ended;
    } else {
      seen.wait = waits_.of(index, record);
    }
    const auto own = own_place(record, scene_.stacks, {scene_.modules, library_});
    seen.is_own = own.has_value();
    if (own) seen.function = place_text(*own);
    const bool may_be_new = seen.wait.kind == WaitKind::Unknown && !seen.thread;
    if (may_be_new && is_at_start(record, scene_.modules)) {
      seen.wait.kind = WaitKind::NotStarted;
    }
    if (seen.wait.kind == WaitKind::NotStarted) seen.is_own = true;
  }

  // A thread whose fibers all wait looks for one that can run, often while it is still on the stack
  // of the one that waited last.
  const unwind::StackRecord* put_on_thread(std::size_t index, FiberSeen& seen) {
    const Range stack = scene_.fibers[index].stack;
    const auto threads = scene_.threads;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const auto& registers = threads[i].registers;
      if (!registers || !stack.contains(registers->stack_pointer)) continue;
      seen.thread = i;
      report_.threads[i].fiber = index;
      const auto found = by_thread_.find(threads[i].tid);
      if (found == by_thread_.end()) return nullptr;
      report_.threads[i].is_idle = looks_for_fibers(*found->second, scene_.stacks, library_) ||
                                   is_in_event_loop(report_.threads[i].wait.call);
      return found->second;
    }
    return nullptr;
  }

  // Without line information, no function may show that the scheduler waits for events.
  [[nodiscard]] bool is_in_event_loop(std::string_view call) const {
    return library_.directory().empty() &&
           (call.starts_with("epoll_wait(") || call.starts_with("epoll_pwait"));
  }

  // Each thread has a fiber "main" of its own, on the stack that it was started with; the first
  // thread's is the program's main fiber.
  void name_contexts() {
    std::vector<std::string> names;
    for (const FiberSeen& fiber : report_.fibers) names.push_back(fiber.name);
    std::vector<std::string> contexts =
        contexts_of(scene_.fibers, names, scene_.fiber_bytes, scene_.memory);
    for (std::size_t i = 0; i < report_.fibers.size(); ++i) {
      FiberSeen& fiber = report_.fibers[i];
      fiber.context = std::move(contexts[i]);
      const Mapping* const stack = scene_.map.find(scene_.fibers[i].stack.start);
      if (stack == nullptr || fiber.name != "main") continue;
      for (const FrozenThread& thread : scene_.threads) {
        if (!thread.registers || is_kernel_worker(*thread.registers)) continue;
        if (!stack->range.contains(thread.registers->thread_pointer)) continue;
        fiber.of_thread = fmt::format("{} {}", thread.tid, thread.name);
      }
    }
  }

  void name_holders() {
    std::vector<RemoteAddr> awaited;
    for (const FiberSeen& fiber : report_.fibers) {
      if (fiber.wait.object.value != 0) awaited.push_back(fiber.wait.object);
    }
    const HolderNames globals = names_of_globals(scene_.modules, scene_.memory, awaited);
    const AwaitedObjects objects(scene_.index, scene_.capture, scene_.classes, scene_.fibers);
    for (std::size_t i = 0; i < report_.fibers.size(); ++i) {
      FiberWait& wait = report_.fibers[i].wait;
      const auto global = globals.find(wait.object);
      if (global != globals.end()) wait.holder = global->second;
      const bool is_lock = wait.kind == WaitKind::Mutex && wait.object.value != 0;
      if (!wait.holder.empty() || !is_lock || records_[i] == nullptr) continue;
      const auto& frames = records_[i]->frames;
      if (frames.empty()) continue;
      const Range words{frames.front().stack_pointer, kTopBytes};
      const Range stack = scene_.fibers[i].stack;
      const std::uint64_t left = stack.end() > words.start ? stack.end() - words.start : 0;
      wait.holder =
          name_of_field(wait.object, objects.objects_of({words.start, std::min(words.bytes, left)}),
                        scene_.capture);
    }
  }

  const Scene& scene_;
  const CrystalLibrary& library_;
  StackReport& report_;
  FiberWaits waits_;
  std::unordered_map<pid_t, const unwind::StackRecord*> by_thread_;
  std::unordered_map<std::uint64_t, const unwind::StackRecord*> by_fiber_;
  std::vector<const unwind::StackRecord*> records_;  // of the fibers; null if there is none
};

}  // namespace

void add_fibers(const Scene& scene,
                const CrystalLibrary& library,
                Descriptors& descriptors,
                StackReport& report) {
  Fibers(scene, library, descriptors, report).add();
}

}  // namespace heapattach::stacks
