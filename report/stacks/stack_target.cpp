#include "report/stacks/stack_target.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "report/collect/while_it_changes.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/collector.h"
#include "symbols/crystal/type_sources.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/interpreter.h"

namespace heapattach::stacks {

// A failure here costs only the fibers, and is not an error.
Result<void> StackTarget::learn_fibers(const Request& request) {
  const auto collector = find_as_map_grows(
      [&] { return boehm::find_collector(modules, memory, map, request.deadline); });
  HA_TRY(request.deadline.check("learning about the target"));
  if (!collector) {
    request.note("no fibers: " + collector.error().message());
    return {};
  }
  std::vector<crystal::TypeList> lists;
  if (!request.type_info.empty()) {
    lists = HA_TRY(crystal::read_type_info(request.type_info, request.deadline));
  }
  auto scan = crystal::scan_allocators(modules, memory);
  if (!scan) {
    request.note("no names of types: " + scan.error().message());
    return {};
  }
  if (!scan->is_crystal && lists.empty()) return {};
  crystal::JoinedTypes joined = crystal::join_types(std::move(lists), std::move(*scan));
  classes = std::move(joined.table);
  if (!joined.refusal.empty()) {
    refusal = crystal::refusal_text(request.type_info, joined.refusal);
  }
  const auto index = boehm::read_blocks(memory, map, collector->layout);
  if (!index) {
    request.note("no fibers: " + index.error().message());
    return {};
  }
  heap = collector->layout;
  fibers = crystal::learn_fibers(classes, *index, memory, map);
  request.note(fmt::format("{} Crystal types; fibers are {}known", classes.types().size(),
                           fibers.is_known() ? "" : "not "));
  return {};
}

void StackTarget::learn_ruby(const Request& request) {
  const auto interpreter = ruby::find_interpreter(modules, memory);
  if (!interpreter) return;
  request.note(fmt::format("{} in {}", interpreter->description, interpreter->module));
  const auto machine = ruby::find_machine(modules, memory, *interpreter);
  if (!machine) {
    ruby_refusal = "no Ruby frames: " + machine.error().message();
    return;
  }
  ruby = *machine;
  // A part of the time: without fibers, there are still threads.
  Deadline until = request.deadline;
  const auto now = std::chrono::steady_clock::now();
  until.at = now + std::min<std::chrono::steady_clock::duration>((until.at - now) / 4,
                                                                 std::chrono::seconds(10));
  auto found = snapshot::while_it_changes(process != nullptr, until, [&] {
    return ruby::find_fibers(*ruby, memory, {1, until.at});
  });
  if (found) {
    ruby_fibers = std::move(*found);
  } else {
    ruby_refusal = "suspended Ruby fibers are not shown: " + found.error().message();
  }
}

Result<std::unique_ptr<StackTarget>> StackTarget::learn(const Request& request) {
  auto target = std::make_unique<StackTarget>(HA_TRY(Opened::open(request)));
  if (auto learned = target->learn_fibers(request); !learned) {
    return target->explain(std::move(learned).error());
  }
  target->learn_ruby(request);
  target->mono = mono::find_mono(target->modules, target->memory);
  return target;
}

}  // namespace heapattach::stacks
