#include "report/stacks/take_stacks.h"

#include <algorithm>
#include <set>

#include "report/collect/core_warnings.h"
#include "report/collect/generated_code.h"
#include "report/missing_files.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/scene.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

namespace {

Result<unwind::Stacks> walk(const StackTarget& target,
                            const HeldStacks& held,
                            const snapshot::GeneratedCode& code,
                            const Request& request) {
  unwind::StackLimits limits;
  limits.with_locals = false;
  limits.with_places = true;
  limits.time = std::chrono::seconds(30);
  limits.deadline = request.deadline;
  types::TypeModel none;
  return unwind::walk_stacks(target.modules, none, held.capture,
                             {held.freeze.threads, held.fibers, &held.map, code.functions}, limits);
}

// Why frames have no names, for each module that has frames.
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

Scene scene_of(const StackTarget& target, const HeldStacks& held, const unwind::Stacks& stacks) {
  return {.process = target.process ? &*target.process : nullptr,
          .modules = target.modules,
          .memory = target.memory,
          .classes = target.classes,
          .fiber_bytes = target.fibers.object_bytes,
          .capture = held.capture,
          .map = held.map,
          .index = held.index,
          .fibers = held.fibers,
          .threads = held.freeze.threads,
          .monotonic = held.monotonic,
          .stacks = stacks,
          .before = held.before,
          .after = held.after,
          .pause = held.freeze.pause,
          .busy = &held.busy,
          .ruby = held.ruby && *held.ruby ? &held.ruby->value().all : nullptr,
          .mono = target.mono ? &*target.mono : nullptr};
}

void add_header(const StackTarget& target, StackReport& report) {
  report.pid = target.pid();
  report.resource = target.resource;
  if (target.core) {
    report.exe = target.core->program();
    report.core = CoreFacts{target.core->signal(), target.core->signal_thread()};
  } else if (auto exe = target.process->read_link("exe")) {
    report.exe = std::move(*exe);
  }
}

}  // namespace

Result<StackReport> take_stacks(const Request& request) {
  const auto target = HA_TRY(StackTarget::learn(request));
  HA_TRY(request.deadline.check("learning about the target"));
  const auto held = HA_TRY(hold_stacks(*target, request));
  snapshot::GeneratedCode code;
  if (target->mono) {
    code = snapshot::generated_code(*target->mono, held->freeze.threads, held->capture,
                                    target->memory, held->map);
  }
  auto stacks = walk(*target, *held, code, request);
  HA_TRY(request.deadline.check("walking the stacks"));
  std::vector<std::string> warnings;
  if (target->core) warnings = snapshot::warnings_of(*target->core, target->modules);
  bool is_partial = !warnings.empty();
  if (!stacks) {
    warnings.push_back("no frames: " + stacks.error().message());
    is_partial = true;
    stacks = unwind::Stacks{};
  }
  for (const std::string& text : stacks->notes) request.note(text);
  std::string no_ruby = target->ruby_refusal;
  if (held->ruby && !*held->ruby) no_ruby = "no Ruby frames: " + held->ruby->error().message();
  if (held->ruby && *held->ruby && held->ruby->value().unread_fibers > 0) {
    no_ruby = fmt::format("{} of {} Ruby fibers were not read in time: --max-pause MS allows more",
                          held->ruby->value().unread_fibers, target->ruby_fibers.size());
  }
  if (!no_ruby.empty()) {
    warnings.push_back(std::move(no_ruby));
    is_partial = true;
  }
  StackReport report = report_on(scene_of(*target, *held, *stacks));
  add_header(*target, report);
  if (!target->core) add_missing_names(target->modules, *stacks, warnings);
  warnings.insert(warnings.end(), code.warnings.begin(), code.warnings.end());
  if (!target->refusal.empty()) warnings.push_back(target->refusal);
  // The warnings already name what could not be matched.
  is_partial |= !report.warnings.empty();
  report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
  report.is_partial = is_partial;
  for (const Module& module : target->modules.all()) {
    for (const std::string& text : module.notes()) {
      request.note(fmt::format("{}: {}", module.path(), text));
    }
  }
  return report;
}

}  // namespace heapattach::stacks
