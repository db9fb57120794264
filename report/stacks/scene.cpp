#include "report/stacks/scene.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attach/stop/kernel_worker.h"
#include "report/stacks/caught_signals.h"
#include "report/stacks/crystal_library.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/diagnosis.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/join_fibers.h"
#include "report/stacks/mono_threads.h"
#include "report/stacks/mutexes.h"
#include "report/stacks/named_stacks.h"
#include "report/stacks/ruby_threads.h"
#include "report/stacks/system_calls.h"
#include "report/stacks/thread_load.h"
#include "symbols/cxx/function_name.h"

namespace heapattach::stacks {

namespace {

snapshot::ThreadWaitKind kind_of(const mono::AwaitedLock& awaited) {
  return awaited.is_pulse ? snapshot::ThreadWaitKind::Pulse : snapshot::ThreadWaitKind::ObjectLock;
}

class Joining {
 public:
  explicit Joining(const Scene& scene)
      : scene_(scene),
        library_(CrystalLibrary::of(scene.stacks)),
        stacks_(scene.stacks, {scene.modules, library_}, report_),
        descriptors_(scene.process) {
    for (const unwind::StackRecord& record : scene.stacks.stacks) {
      if (record.thread != 0) by_thread_.emplace(record.thread, &record);
    }
  }

  StackReport join() {
    report_.pause = scene_.pause;
    for (const FrozenThread& thread : scene_.threads) add_thread(thread);
    add_owners();
    if (scene_.ruby != nullptr) add_ruby_threads(*scene_.ruby, descriptors_, report_);
    add_fibers(scene_, library_, descriptors_, report_);
    if (scene_.process != nullptr) {
      const auto status = scene_.process->read_file("status");
      if (status) report_.caught_signals = caught_signals_in(*status);
    }
    add_diagnosis();
    return std::move(report_);
  }

 private:
  void add_diagnosis() {
    Diagnosis diagnosis = diagnose(report_);
    report_.findings = std::move(diagnosis.findings);
    report_.remarks = std::move(diagnosis.remarks);
    for (const auto& [thread, finding] : diagnosis.finding_of_thread) {
      report_.threads.at(thread).finding = finding;
    }
    for (const auto& [fiber, finding] : diagnosis.finding_of_fiber) {
      report_.fibers.at(fiber).finding = finding;
    }
  }

  void add_thread(const FrozenThread& thread) {
    ThreadSeen seen;
    seen.tid = thread.tid;
    seen.tid_in_target = thread.tid;
    seen.name = thread.name;
    seen.state = thread.state;
    seen.is_readable = thread.registers.has_value();
    seen.limited_stack_bytes = limited_stack_bytes(thread);
    const ThreadActivity* const before = activity_of(scene_.before, thread.tid);
    const ThreadActivity* const after = activity_of(scene_.after, thread.tid);
    if (const ThreadActivity* const one = before != nullptr ? before : after; one != nullptr) {
      seen.tid_in_target = one->tid_in_target;
      seen.processor_time = one->time.running;
      if (thread.state != 'R') seen.wait_channel = one->wait_channel;
    }
    seen.is_busy = scene_.busy != nullptr && scene_.busy->contains(thread.tid);
    if (before != nullptr && after != nullptr) {
      seen.load = load_between(*before, *after, scene_.pause);
    }
    if (const auto record = by_thread_.find(thread.tid); record != by_thread_.end()) {
      seen.stack = stacks_.add(*record->second);
      const auto own = own_place(*record->second, scene_.stacks, {scene_.modules, library_});
      if (own) seen.function = place_text(*own);
    }
    std::optional<LockOwner> owner;
    seen.is_of_kernel = thread.registers && is_kernel_worker(*thread.registers);
    if (thread.registers && !seen.is_of_kernel) {
      if (const auto call = call_of(*thread.registers, scene_.modules)) {
        seen.wait.call = describe(*call, scene_.capture, descriptors_, scene_.monotonic);
        seen.needs_another_thread = needs_own_process(*call, scene_.map);
        owner = owner_of_awaited_lock(*call, named(report_, seen.stack), scene_.capture);
        if (owner) {
          seen.wait.kind = owner->kind;
          seen.wait.mutex = name_of_data(owner->lock);
        }
      }
    }
    if (scene_.mono != nullptr && add_mono(thread, seen)) owner.reset();
    owners_.push_back(owner);
    report_.threads.push_back(std::move(seen));
  }

  // Returns true if it waits for an object.
  bool add_mono(const FrozenThread& thread, ThreadSeen& seen) {
    MonoThread found = mono_thread(*scene_.mono, thread, scene_.modules, scene_.capture);
    if (found.known) {
      // The kernel cuts names after 15 bytes.
      if (found.known->name.size() > seen.name.size()) seen.name = found.known->name;
      by_small_id_.emplace(found.known->small_id, report_.threads.size());
    }
    if (!found.known) return false;
    if (!mono_names_) mono_names_.emplace(*scene_.mono, scene_.capture, scene_.memory);
    if (!found.awaits) return add_event(thread, seen);
    seen.wait.kind = kind_of(*found.awaits);
    const snapshot::ThreadWaitRow& row = thread_wait(seen.wait.kind);
    seen.wait.mutex = std::string(row.of) + mono_names_->awaited(*found.awaits, thread);
    if (row.is_held) awaited_.emplace_back(report_.threads.size(), found.awaits->owner);
    return true;
  }

  bool add_event(const FrozenThread& thread, ThreadSeen& seen) {
    const std::string event = mono_names_->event(thread, scene_.modules);
    if (event.empty()) return false;
    seen.wait.kind = snapshot::ThreadWaitKind::Signal;
    seen.wait.mutex = std::string(thread_wait(seen.wait.kind).of) + event;
    return true;
  }

  void add_owners() {
    for (const auto& [thread, small_id] : awaited_) {
      const auto owner = by_small_id_.find(small_id);
      if (owner != by_small_id_.end()) report_.threads[thread].wait.thread = owner->second;
    }
    for (std::size_t i = 0; i < report_.threads.size(); ++i) {
      if (!owners_[i]) continue;
      const auto owner = std::find_if(
          report_.threads.begin(), report_.threads.end(),
          [&](const ThreadSeen& thread) { return thread.tid_in_target == owners_[i]->thread; });
      if (owner == report_.threads.end()) {
        if (owners_[i]->is_private) report_.threads[i].gone_owner = owners_[i]->thread;
        continue;
      }
      report_.threads[i].wait.thread = static_cast<std::size_t>(owner - report_.threads.begin());
    }
  }

  // The kernel extends the first thread's stack, and counts all of it, with the arguments.
  [[nodiscard]] std::uint64_t limited_stack_bytes(const FrozenThread& thread) const {
    if (!thread.registers) return 0;
    const RemoteAddr top = thread.registers->stack_pointer;
    const Mapping* const mapping = scene_.map.find(top);
    return mapping != nullptr && mapping->path == "[stack]" ? mapping->range.end() - top : 0;
  }

  // The variable that is at an address; empty if none is known to be.
  [[nodiscard]] std::string name_of_data(RemoteAddr at) const {
    const Module* const module = scene_.modules.find(at);
    if (module == nullptr) return {};
    const auto symbol = module->symbol_at(at);
    if (!symbol || symbol->is_function) return {};
    const std::uint64_t offset = at - symbol->address;
    return function_name(symbol->name) + (offset == 0 ? "" : fmt::format("+{}", offset));
  }

  const Scene& scene_;
  CrystalLibrary library_;
  StackReport report_;
  StackAdder stacks_;
  Descriptors descriptors_;
  std::unordered_map<pid_t, const unwind::StackRecord*> by_thread_;
  std::vector<std::optional<LockOwner>> owners_;  // of what the threads wait for
  std::optional<MonoNames> mono_names_;
  std::unordered_map<std::uint32_t, std::size_t> by_small_id_;  // threads of Mono
  std::vector<std::pair<std::size_t, std::uint32_t>> awaited_;  // … that wait for a lock, its owner
};

}  // namespace

StackReport report_on(const Scene& scene) {
  return Joining(scene).join();
}

}  // namespace heapattach::stacks
