#include "report/stacks/stack_target.h"

#include <utility>

#include <fmt/format.h>

#include "symbols/crystal/type_sources.h"

namespace heapattach::stacks {

// A failure here costs only the fibers, and is not an error.
Result<void> StackTarget::learn_fibers(const StackOptions& options) {
  const auto collector = find_collector();
  HA_TRY(options.deadline.check("learning about the target"));
  if (!collector) {
    options.say("no fibers: " + collector.error().message());
    return {};
  }
  std::vector<crystal::TypeList> lists;
  if (!options.type_info.empty()) lists = HA_TRY(crystal::read_type_info(options.type_info));
  auto scan = crystal::scan_allocators(modules, memory);
  if (!scan) {
    options.say("no names of types: " + scan.error().message());
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
    options.say("no fibers: " + index.error().message());
    return {};
  }
  heap = collector->layout;
  fibers = crystal::learn_fibers(classes, *index, memory, map);
  options.say(fmt::format("{} Crystal types; fibers are {}known", classes.types().size(),
                          fibers.is_known() ? "" : "not "));
  return {};
}

Result<std::unique_ptr<StackTarget>> StackTarget::learn(const StackOptions& options) {
  auto target = std::make_unique<StackTarget>(
      HA_TRY(Opened::open(options.pid, options.core_file, options.symbols)));
  if (auto learned = target->learn_fibers(options); !learned) {
    return target->explain(std::move(learned).error());
  }
  return target;
}

}  // namespace heapattach::stacks
