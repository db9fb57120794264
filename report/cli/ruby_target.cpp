#include "report/cli/ruby_target.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attach/freeze.h"
#include "inject/prospect.h"
#include "report/cli/option_table.h"
#include "report/collect/header.h"
#include "report/collect/pause.h"
#include "report/format/read/ruby/copied_heap.h"
#include "report/parallel.h"
#include "symbols/ruby/heap_pages.h"

namespace heapattach {

namespace {

// The heap's lists may be in the midst of a change.
constexpr int kMostTries = 5;
constexpr std::chrono::milliseconds kBetween{3};

// For stopping and releasing the threads, without the copying.
constexpr std::chrono::milliseconds kStops{4};

struct Taken {
  std::unique_ptr<ruby::HeapCopy> heap;
  FreezeReport freeze;
};

Result<Taken> take_once(const RubyTarget& target,
                        const Options& options,
                        const Deadline& deadline) {
  const std::uint64_t pages = HA_TRY(ruby::count_pages(*target.machine, target.memory));
  Taken taken;
  taken.heap = std::make_unique<ruby::HeapCopy>(HA_TRY(Arena::reserve(
      ruby::HeapCopy::bytes_for(pages), pages * target.machine->layout->page_bytes)));
  const auto copy = [&](std::chrono::steady_clock::time_point until) {
    return taken.heap->copy(*target.machine, target.memory,
                            {workers_for(pages), std::min(until, deadline.at)});
  };
  if (target.core) {
    HA_TRY(copy(deadline.at));
    return taken;
  }
  FreezeOptions how{.budget = options.max_pause.value_or(kLongestFreeze),
                    .rewind = options.rewind,
                    .reads_only = true};
  taken.freeze = HA_TRY(while_frozen(*target.process, how,
                                     [&](const FrozenView& view) { return copy(view.deadline); }));
  return taken;
}

Result<Taken> take(const RubyTarget& target, const Options& options, const Deadline& deadline) {
  for (int tries = 1;; ++tries) {
    auto taken = take_once(target, options, deadline);
    const bool may_change =
        !taken && taken.error().kind == ErrorKind::Malformed && target.process != nullptr;
    if (!may_change || tries == kMostTries) return taken;
    HA_TRY(deadline.check("reading Ruby's heap"));
    std::this_thread::sleep_for(kBetween);
  }
}

void fill_header(const RubyTarget& target, const Taken& taken, snapshot::Snapshot& snapshot) {
  snapshot::Header& header = snapshot.header;
  if (target.core) {
    header.tool = "heapattach " HEAPATTACH_VERSION;
    header.pid = target.pid();
    header.exe = target.core->program();
  } else {
    snapshot::fill_origin(*target.process, target.modules, header);
    header.pause_ms = std::chrono::duration<double, std::milli>(taken.freeze.pause).count();
    for (const FrozenThread& thread : taken.freeze.threads) {
      snapshot::Thread& added = snapshot.threads.emplace_back();
      added.tid = thread.tid;
      added.name = thread.name;
      added.state = thread.state;
    }
  }
  header.source = target.core ? "core" : "freeze";
  header.runtime = "ruby";
  header.live_only = false;
  snapshot::Collector collector;
  collector.name = "ruby";
  collector.version = target.ruby.version;
  collector.layout = "table";
  collector.collecting = taken.heap->is_collecting();
  header.collector = std::move(collector);
}

}  // namespace

Result<std::unique_ptr<RubyTarget>> RubyTarget::open(const Options& options,
                                                     Console& console,
                                                     Error not_found) {
  SymbolSearch search;
  search.exe = options.exe;
  search.debug_dirs = options.debug_dirs;
  search.sysroot = options.sysroot;
  auto found =
      std::make_unique<RubyTarget>(HA_TRY(Opened::open(options.pid, options.file, search)));
  auto ruby = ruby::find_interpreter(found->modules, found->memory);
  if (!ruby) return not_found;
  found->ruby = std::move(*ruby);
  console.step(fmt::format("{} in {}", found->ruby.description, found->ruby.module));
  auto machine = ruby::find_machine(found->modules, found->memory, found->ruby);
  if (machine) {
    found->machine = *machine;
  } else {
    found->no_machine = machine.error().message();
    console.step(found->no_machine);
  }
  return found;
}

bool can_read_ruby_from_outside(const Options& options) {
  return !needs_edges(options) && !needs_contents(options) && options.report == Report::Count &&
         options.by == snapshot::CountBy::Type;
}

bool wants_ruby_from_outside(const Options& options) {
  return options.hold == snapshot::Hold::Freeze &&
         std::any_of(options.given.begin(), options.given.end(),
                     [](const OptionRow* row) { return row->name == "snapshot"; });
}

Result<void> examine_ruby(const Options& options, Console& console, snapshot::Examination& found) {
  const Error no_ruby{ErrorKind::Unsupported, "no Ruby"};
  const auto opened = RubyTarget::open(options, console, no_ruby);
  if (!opened) {
    return opened.error().kind == no_ruby.kind ? Result<void>() : opened.error();
  }
  const RubyTarget& target = **opened;
  const auto longest = options.max_pause.value_or(kLongestFreeze);
  snapshot::RubyFacts& facts = found.ruby.emplace();
  facts.version = target.ruby.version;
  facts.description = target.ruby.description;
  facts.module = target.ruby.module;
  facts.no_outside = target.no_machine;
  if (target.machine) {
    const auto pages = ruby::count_pages(*target.machine, target.memory);
    if (pages) facts.heap_bytes = *pages * target.machine->layout->page_bytes;
  }
  const auto pause =
      snapshot::estimate_pause(*target.process, facts.heap_bytes.value_or(0), longest);
  facts.freeze = pause.freeze + kStops;
  facts.clone = pause.clone + kStops;
  found.modules = target.modules.all().size();
  for (const Module& module : target.modules.all()) {
    if (!module.symbols().empty()) ++found.modules_with_symbols;
  }
  found.obstacles.clear();  // that there is no other collector
  found.refusal.reset();
  if (auto obstacle = clone_obstacle(*target.process, target.map, target.memory, longest)) {
    found.obstacles.push_back({"clone", std::move(*obstacle)});
    if (!target.machine) found.refusal = ErrorKind::Os;
  }
  return {};
}

Result<snapshot::Snapshot> read_ruby_from_outside(const RubyTarget& target,
                                                  const Options& options,
                                                  const Deadline& deadline,
                                                  Console& console) {
  if (!target.machine) return Error{ErrorKind::Unsupported, target.no_machine};
  if (!can_read_ruby_from_outside(options)) {
    return Error{ErrorKind::Unsupported,
                 "a Ruby heap that is read from outside gives only --count by type"};
  }
  const auto captured = std::chrono::system_clock::now();
  const Taken taken = HA_TRY(take(target, options, deadline));
  snapshot::Snapshot snapshot;
  HA_TRY(ruby::add_objects(*taken.heap, snapshot));
  fill_header(target, taken, snapshot);
  snapshot.header.captured = snapshot::moment_text(captured);
  console.step(fmt::format(
      "Ruby {}: read {} pages of its heap from outside; {} garbage objects are left out",
      target.ruby.version, taken.heap->page_count(), taken.heap->garbage()));
  return snapshot;
}

}  // namespace heapattach
