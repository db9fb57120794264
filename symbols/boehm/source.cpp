#include "symbols/boehm/source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "symbols/boehm/bounded_blocks.h"
#include "symbols/boehm/check_live.h"
#include "symbols/boehm/collector_lists.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/live.h"
#include "symbols/boehm/marking_rules.h"
#include "symbols/boehm/own_variables.h"
#include "symbols/boehm/root_function.h"
#include "symbols/boehm/roots.h"
#include "symbols/elf/machine.h"
#include "symbols/heap/joined.h"

namespace heapattach::boehm {

namespace {

// A collector that was stopped while it grew its heap has counted blocks that its index does not
// list yet. One that was about to collect may have been changing its table of roots.
bool is_consistent(const heap::Contents& contents, const RootTables& tables) {
  const std::uint64_t listed = contents.index.used_bytes + contents.index.free_bytes;
  return contents.index.skipped == 0 && contents.counters.heap_bytes.value_or(listed) == listed &&
         tables.problem.empty();
}

void append(std::span<const Range> more, std::vector<Range>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Source::Source(Collector collector, const heap::Surroundings& target)
    : collector_(std::move(collector)), data_(collector_data(target.modules, collector_)) {
  const RootTables tables = read_root_tables(collector_, data_, target.memory);
  static_roots_ = boehm::static_roots(target.modules, collector_, tables);
  for (const std::string& text : collector_.notes) target.note(text);
  target.note(fmt::format("{} areas and {} exclusions in the collector's tables of roots",
                          tables.areas.size(), tables.excluded.size()));
}

std::string_view Source::layout() const {
  switch (collector_.layout.source) {
    case Layout::Source::Accessors: return "accessors";
    case Layout::Source::DebugInfo: return "debug info";
    case Layout::Source::Structure: return "structure";
  }
  return "";
}

heap::Counters Source::counters(const MemoryReader& memory) const {
  return read_counters(collector_, memory);
}

std::vector<Range> Source::variables(const Modules& modules) const {
  return own_variables(modules, collector_);
}

Result<heap::BlockIndex> Source::blocks(const heap::Surroundings& target,
                                        std::uint64_t in_use) const {
  return read_bounded_blocks(target.memory, target.map, collector_.layout, in_use);
}

std::optional<heap::RootFunction> Source::root_function(const Modules& modules,
                                                        const MemoryReader& memory) const {
  return find_root_function(collector_, modules, memory);
}

Result<heap::CopyPlan> Source::plan(const heap::Surroundings& target,
                                    std::span<const FrozenThread> threads,
                                    std::uint64_t in_use,
                                    heap::Contents& contents) {
  contents.index = HA_TRY(blocks(target, in_use));
  contents.counters = counters_ = read_counters(collector_, target.memory);
  tables_ = read_root_tables(collector_, data_, target.memory);
  heap::CopyPlan plan;
  plan.is_settled = is_consistent(contents, tables_);
  plan.contents = plan_copy(contents.index, collector_.layout);
  plan.data = data_;
  plan.roots = boehm::static_roots(target.modules, collector_, tables_);
  const auto stacks = stack_roots(threads, target.map, machine_of(target.modules));
  plan.roots.insert(plan.roots.end(), stacks.begin(), stacks.end());
  return plan;
}

// For other heaps, only the collector's live objects count as roots, and none of its own tables.
Result<void> Source::read(const heap::Copied& copied,
                          const heap::Taken& /*taken*/,
                          heap::Contents& contents) {
  contents.own = heap::memory_of(contents.index);
  append(collector_.excluded, contents.own);
  // Each header contains the address of its block, and would keep the first object in it alive.
  append(contents.index.headers, contents.own);
  append(collector_lists(copied.capture, data_, collector_, contents.index, copied.threads),
         contents.own);
  return {};
}

heap::LiveSet Source::mark(heap::Heap& heap,
                           const heap::Copied& copied,
                           std::vector<heap::RootRange> roots,
                           unsigned workers) {
  follow(heap, read_marking_rules(heap, collector_, data_, copied.capture, copied.outside));
  Roots from;
  from.ranges = roots;
  from.threads.assign(copied.threads.begin(), copied.threads.end());
  from.collector_data = data_;
  from.tables = tables_;
  from.kinds = collector_.kinds;
  from.pid = copied.pid;
  from.machine = machine_of(copied.modules);
  if (const auto at = collector_.stack_bottom) {
    if (const auto bottom = copied.capture.read_as<std::uint64_t>(*at)) {
      from.stack_bottom = RemoteAddr{*bottom};
    }
  }
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): reports use what every heap has
  heap::LiveSet found = find_live(heap, copied.capture, std::move(from), copied.map, workers);
  LiveCheck(collector_, data_, counters_, copied, roots).run(heap, workers, found);
  found.guessed = count_guesses(heap, found.live);
  return found;
}

Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target) {
  auto collector =
      HA_TRY(find_collector(target.modules, target.memory, target.map, target.deadline));
  return std::unique_ptr<heap::Source>(std::make_unique<Source>(std::move(collector), target));
}

}  // namespace heapattach::boehm
