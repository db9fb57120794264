#include "report/stacks/stack_target.h"

#include <utility>

#include <fmt/format.h>

#include "attach/interrupt.h"
#include "report/collect/growing_heap.h"
#include "symbols/crystal/type_sources.h"
#include "symbols/elf/core_modules.h"

namespace heapattach::stacks {

namespace {

Result<std::unique_ptr<StackTarget>> open_target(const StackOptions& options) {
  if (!options.core_file.empty()) {
    return std::make_unique<StackTarget>(HA_TRY(CoreFile::open(options.core_file)));
  }
  Process process = HA_TRY(Process::open(options.pid));
  Fd mem = HA_TRY(LiveMemory::open_mem(process));
  return std::make_unique<StackTarget>(std::move(process), std::move(mem));
}

}  // namespace

StackTarget::StackTarget(Process opened, Fd mem)
    : process(std::move(opened)),
      live(std::make_unique<const LiveMemory>(*process, std::move(mem))),
      memory(*live) {}
StackTarget::StackTarget(std::unique_ptr<CoreFile> opened)
    : core(std::move(opened)), memory(*core) {}

// A failure here costs only the fibers, and is not an error.
Result<void> StackTarget::learn_fibers(const StackOptions& options) {
  const auto collector =
      snapshot::find_collector(process ? &*process : nullptr, modules, memory, map);
  HA_TRY(options.deadline.check("learning about the target"));
  if (!collector) {
    options.say("no fibers: " + collector.error().message);
    return {};
  }
  std::vector<crystal::TypeList> lists;
  if (!options.type_info.empty()) lists = HA_TRY(crystal::read_type_info(options.type_info));
  auto scan = crystal::scan_allocators(modules, memory);
  if (!scan) {
    options.say("no names of types: " + scan.error().message);
    return {};
  }
  if (!scan->is_crystal && lists.empty()) return {};
  crystal::JoinedTypes joined = crystal::join_types(std::move(lists), std::move(*scan));
  classes = std::move(joined.table);
  if (!joined.refusal.empty()) {
    refusal = crystal::refusal_text(options.type_info, joined.refusal);
  }
  const auto index = boehm::read_blocks(memory, map, collector->layout);
  if (!index) {
    options.say("no fibers: " + index.error().message);
    return {};
  }
  heap = collector->layout;
  fibers = crystal::learn_fibers(classes, *index, memory, map);
  options.say(fmt::format("{} Crystal types; fibers are {}known", classes.types().size(),
                          fibers.is_known() ? "" : "not "));
  return {};
}

Result<std::unique_ptr<StackTarget>> StackTarget::learn(const StackOptions& options) {
  auto target = HA_TRY(open_target(options));
  const auto learn_all = [&]() -> Result<void> {
    if (target->core) {
      target->map = target->core->map();
      target->modules = HA_TRY(load_modules(*target->core, options.symbols));
    } else {
      target->map = HA_TRY(target->process->maps());
      target->modules =
          HA_TRY(Modules::load(*target->process, target->memory, target->map, options.symbols));
    }
    return target->learn_fibers(options);
  };
  auto learned = learn_all();
  if (learned) return target;
  HA_TRY(check_interrupt());
  if (target->core || target->process->is_alive()) return std::move(learned).error();
  return Error{ErrorKind::Gone, fmt::format("process {} exited", options.pid)};
}

}  // namespace heapattach::stacks
