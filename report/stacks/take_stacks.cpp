#include "report/stacks/take_stacks.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "report/collect/core_warnings.h"
#include "report/missing_files.h"
#include "report/stacks/caught_signals.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/diagnosis.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/join_fibers.h"
#include "report/stacks/load.h"
#include "report/stacks/mutexes.h"
#include "report/stacks/named_stacks.h"
#include "report/stacks/system_calls.h"
#include "symbols/cxx/function_name.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

namespace {

Result<unwind::Stacks> walk(const StackTarget& target,
                            const HeldStacks& held,
                            const StackOptions& options) {
  unwind::StackLimits limits;
  limits.with_locals = false;
  limits.with_places = true;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.deadline.at - std::chrono::steady_clock::now());
  limits.time =
      std::clamp(left / 2, std::chrono::milliseconds(1), std::chrono::milliseconds(30'000));
  types::TypeModel none;
  return unwind::walk_stacks(target.modules, none, held.capture, {held.freeze.threads, held.fibers},
                             limits);
}

// Why frames have no names, of each module that has some.
void add_missing_names(const Modules& modules,
                       const unwind::Stacks& stacks,
                       std::vector<std::string>& warnings) {
  std::set<const Module*> known;
  for (const unwind::CodePlaces& place : stacks.places) {
    const Module* const module = modules.find(place.pc);
    if (module == nullptr || !known.insert(module).second) continue;
    if (std::string why = why_without_names(*module); !why.empty()) {
      warnings.push_back(std::move(why));
    }
  }
}

// Puts together what was held, walked and named.
class Joining {
 public:
  Joining(const StackTarget& target, const HeldStacks& held, const unwind::Stacks& stacks)
      : target_(target),
        held_(held),
        stacks_(stacks),
        library_(CrystalLibrary::of(stacks)),
        descriptors_(target.process ? &*target.process : nullptr) {
    for (const unwind::StackRecord& record : stacks.stacks) {
      if (record.thread != 0) by_thread_.emplace(record.thread, &record);
    }
  }

  StackReport join() {
    report_.pid = target_.pid();
    report_.pause = held_.freeze.pause;
    if (target_.core) {
      report_.exe = target_.core->program();
      report_.core = CoreFacts{target_.core->signal(), target_.core->signal_thread()};
    } else if (auto exe = target_.process->read_link("exe")) {
      report_.exe = std::move(*exe);
    }
    for (const FrozenThread& thread : held_.freeze.threads) add_thread(thread);
    add_owners();
    add_fibers({target_, held_, stacks_, library_, descriptors_}, report_);
    if (target_.process) {
      const auto status = target_.process->read_file("status");
      if (status) report_.caught_signals = caught_signals_in(*status);
    }
    Diagnosis diagnosis = diagnose(report_);
    report_.findings = std::move(diagnosis.findings);
    report_.remarks = std::move(diagnosis.remarks);
    return std::move(report_);
  }

 private:
  void add_thread(const FrozenThread& thread) {
    ThreadSeen seen;
    seen.tid = thread.tid;
    seen.tid_in_target = thread.tid;
    seen.name = thread.name;
    seen.state = thread.state;
    seen.is_readable = thread.registers.has_value();
    const ThreadActivity* const before = activity_of(held_.before, thread.tid);
    const ThreadActivity* const after = activity_of(held_.after, thread.tid);
    if (const ThreadActivity* const one = before != nullptr ? before : after; one != nullptr) {
      seen.tid_in_target = one->tid_in_target;
      seen.processor_time = one->time.running;
      if (thread.state != 'R') seen.wait_channel = one->wait_channel;
    }
    seen.is_busy = held_.busy.contains(thread.tid);
    if (before != nullptr && after != nullptr) {
      seen.load = load_between(*before, *after, held_.freeze.pause);
    }
    if (const auto record = by_thread_.find(thread.tid); record != by_thread_.end()) {
      const CodeSources sources{target_.modules, library_};
      seen.stack = named(*record->second, stacks_, sources);
      const auto own = own_place(*record->second, stacks_, sources);
      if (own) seen.function = place_text(*own);
    }
    std::optional<pid_t> owner;
    if (thread.registers) {
      if (const auto call = call_of(*thread.registers, target_.modules)) {
        seen.call = describe(*call, held_.capture, descriptors_);
        owner = owner_of_awaited_mutex(*call, seen.stack, held_.capture);
        if (owner) seen.awaited = name_of_data(*awaited_futex(*call));
      }
    }
    owners_.push_back(owner);
    report_.threads.push_back(std::move(seen));
  }

  void add_owners() {
    for (std::size_t i = 0; i < report_.threads.size(); ++i) {
      if (!owners_[i]) continue;
      const auto owner = std::find_if(
          report_.threads.begin(), report_.threads.end(),
          [&](const ThreadSeen& thread) { return thread.tid_in_target == *owners_[i]; });
      if (owner == report_.threads.end()) continue;
      report_.threads[i].waits_for = static_cast<std::size_t>(owner - report_.threads.begin());
    }
  }

  // The variable that is at an address; empty if none is known to be.
  [[nodiscard]] std::string name_of_data(RemoteAddr at) const {
    const Module* const module = target_.modules.find(at);
    if (module == nullptr) return {};
    const auto symbol = module->symbol_at(at);
    if (!symbol || symbol->is_function) return {};
    const std::uint64_t offset = at - symbol->address;
    return function_name(symbol->name) + (offset == 0 ? "" : fmt::format("+{}", offset));
  }

  const StackTarget& target_;
  const HeldStacks& held_;
  const unwind::Stacks& stacks_;
  CrystalLibrary library_;
  Descriptors descriptors_;
  std::unordered_map<pid_t, const unwind::StackRecord*> by_thread_;
  std::vector<std::optional<pid_t>> owners_;  // of what the threads wait for
  StackReport report_;
};

}  // namespace

Result<StackReport> take_stacks(const StackOptions& options) {
  const auto target = HA_TRY(StackTarget::learn(options));
  HA_TRY(options.deadline.check("learning about the target"));
  const auto held = HA_TRY(hold_stacks(*target, options));
  auto stacks = walk(*target, *held, options);
  HA_TRY(options.deadline.check("walking the stacks"));
  std::vector<std::string> warnings;
  if (target->core) warnings = snapshot::warnings_of(*target->core, target->modules);
  bool is_partial = !warnings.empty();
  if (!stacks) {
    warnings.push_back("no frames: " + stacks.error().message);
    is_partial = true;
    stacks = unwind::Stacks{};
  }
  for (const std::string& text : stacks->notes) options.say(text);
  StackReport report = Joining(*target, *held, *stacks).join();
  if (!target->core) add_missing_names(target->modules, *stacks, warnings);
  if (!target->refusal.empty()) warnings.push_back(target->refusal);
  report.warnings = std::move(warnings);
  report.is_partial = is_partial;
  for (const Module& module : target->modules.all()) {
    for (const std::string& text : module.notes()) {
      options.say(fmt::format("{}: {}", module.path(), text));
    }
  }
  return report;
}

}  // namespace heapattach::stacks
