#include "report/collect/examine.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attach/process/observe.h"
#include "attach/process/permission.h"
#include "inject/headroom.h"
#include "inject/prospect.h"
#include "report/collect/completeness.h"
#include "report/collect/header.h"
#include "report/collect/pause.h"
#include "report/collect/private_memory.h"
#include "report/collect/target.h"
#include "symbols/heap/ranges.h"
#include "symbols/heaps.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

void look_at_threads(const Process& process, Examination& found) {
  const auto threads = observe_threads(process);
  if (!threads) return;
  found.threads = threads->size();
  for (const ObservedThread& thread : *threads) {
    const auto same = std::find_if(found.states.begin(), found.states.end(),
                                   [&](const auto& row) { return row.first == thread.state; });
    if (same == found.states.end()) {
      found.states.emplace_back(thread.state, 1);
    } else {
      ++same->second;
    }
    const auto status = process.thread_status(thread.tid);
    if (status && status->seccomp_mode != 0) ++found.filtered;
  }
}

void look_at_symbols(const Target& target, Examination& found) {
  found.modules = target.modules.all().size();
  for (const Module& module : target.modules.all()) {
    if (!module.symbols().empty()) ++found.modules_with_symbols;
  }
}

constexpr std::string_view kReadWhileRunning = "it would be read while the target runs";

// The time that it takes to stop and release the threads, without copying.
constexpr std::chrono::milliseconds kStops{4};

// The memory outside the heap that the heap's owner scans. If the owner scans nothing, the
// variables of all modules.
std::vector<Range> memory_of_variables(const Target& target) {
  std::vector<Range> memory;
  if (target.collected() != nullptr) {
    for (const heap::RootRange& root : target.collected()->static_roots()) {
      memory.push_back(root.range);
    }
    return memory;
  }
  for (const Module& module : target.modules.all()) {
    const auto relro = module.relro();
    for (const Segment& segment : module.segments()) {
      if (!segment.writable) continue;
      heap::subtract(segment.range, {relro ? &*relro : nullptr, relro ? 1U : 0U}, memory);
    }
  }
  return memory;
}

// The number of variables that --why can name: from symbols, or from debug information if the
// symbols were stripped.
std::size_t named_globals(const Target& target) {
  const std::vector<Range> variables = memory_of_variables(target);
  std::size_t count = 0;
  for (const Module& module : target.modules.all()) {
    for (const Symbol& symbol : module.symbols()) {
      const auto holds = [&](const Range& range) { return range.contains(symbol.address); };
      if (symbol.is_function || symbol.bytes < sizeof(void*)) continue;
      if (std::any_of(variables.begin(), variables.end(), holds)) ++count;
    }
  }
  return std::max(count, target.types.globals.size());
}

// Checks whether a snapshot could read the heap, and returns the snapshot's error if it could not.
// Tries several times, because running threads may be changing the heap.
Result<void> check_heap(const heap::Source& heap, const Target& target) {
  constexpr int kMostTries = 5;
  for (int tries = 1;; ++tries) {
    auto found = heap.check(target.modules, target.memory);
    if (found || tries == kMostTries) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// The kinds of heaps that --heap both would read besides the first one. In the list of kinds, they
// come after the first.
std::vector<const heap::Kind*> heaps_beside(const Target& target, const Deadline& deadline) {
  const heap::Kind& first = target.heaps.front()->kind();
  const std::function<void(std::string_view)> note = [](std::string_view) {};
  std::vector<const heap::Kind*> beside;
  const auto kinds = heap_kinds();
  for (auto at = std::find(kinds.begin(), kinds.end(), &first) + 1; at != kinds.end(); ++at) {
    const heap::Kind* kind = *at;
    if (kind->find == nullptr) continue;
    const auto found = kind->find({target.modules, target.memory, target.map, note, deadline});
    if (found && check_heap(**found, target)) beside.push_back(kind);
  }
  return beside;
}

HeapFacts heap_facts(const Target& target, const Deadline& deadline) {
  const heap::Source& first = *target.heaps.front();
  const heap::Counters now = heap::counters_or_blocks(
      first, {target.modules, target.memory, target.map}, most_used_bytes(target));
  HeapFacts heap;
  heap.kind = &first.kind();
  heap.module = first.module(target.modules);
  heap.version = first.version();
  heap.layout = first.layout();
  heap.heap_bytes = now.heap_bytes.value_or(0);
  if (now.free_bytes) heap.free_bytes = std::min(heap.heap_bytes, *now.free_bytes);
  if (target.collected() == nullptr) {
    // Without a collector, the heap is found only in a copy. Its size is not known here.
    heap.is_resident = true;
    heap.heap_bytes = resident_bytes(target).value_or(0);
  }
  heap.beside = heaps_beside(target, deadline);
  heap.collections = now.collections;
  heap.is_collecting = now.collecting.value_or(false);
  heap.runtime = target.runtime;
  heap.classes = target.classes.types().size() + target.vtables.names().size();
  heap.types = target.types.types().size();
  heap.globals = named_globals(target);
  return heap;
}

void add_obstacles(const Target& target, std::chrono::milliseconds longest, Examination& found) {
  HeapFacts& heap = *found.heap;
  const std::uint64_t used = target.has_by_hand() ? resident_bytes(target).value_or(0)
                                                  : heap.heap_bytes - heap.free_bytes.value_or(0);
  const PauseEstimate pause = estimate_pause(*target.process, used, longest);
  heap.freeze = pause.freeze + kStops;
  heap.clone = pause.clone + kStops;
  if (pause.freeze > longest) {
    found.obstacles.push_back(
        {"freeze", fmt::format("it may take {} ms, and {} ms are allowed; --max-pause allows more",
                               pause.freeze.count(), longest.count())});
  }
  if (auto obstacle = clone_obstacle(*target.process, target.map, target.memory, longest)) {
    found.obstacles.push_back({"clone", std::move(*obstacle)});
  }
  const auto facts = clone_facts(*target.process);
  if (facts && facts->available_bytes < used) {
    found.obstacles.push_back(
        {"any", fmt::format("the copy of the heap needs {} MiB of our own, and the machine has {} "
                            "MiB to spare",
                            used / kMegabyte, facts->available_bytes / kMegabyte)});
  }
}

// Whether a way of taking a snapshot is blocked.
bool is_blocked(const Examination& found, std::string_view way) {
  return std::any_of(found.obstacles.begin(), found.obstacles.end(),
                     [&](const Obstacle& one) { return one.way == way || one.way == "any"; });
}

// Learns what a snapshot would learn before the stop, and checks the heaps that a snapshot checks
// only in its copy.
Result<std::unique_ptr<Target>> learn(const TakeOptions& options) {
  auto target = HA_TRY(Target::learn(options));
  for (const auto& heap : target->heaps) {
    if (auto checked = check_heap(*heap, *target); !checked) {
      return target->explain(std::move(checked).error());
    }
  }
  return target;
}

}  // namespace

std::optional<ErrorKind> refusal_of(Hold way, const Examination& found) {
  if (is_blocked(found, "any")) return ErrorKind::Os;
  switch (way) {
    case Hold::Freeze:
      // A freeze would begin, but give up at its deadline.
      if (is_blocked(found, "freeze")) return ErrorKind::Timeout;
      break;
    case Hold::Clone:
      if (is_blocked(found, "clone")) return ErrorKind::Impossible;
      break;
    case Hold::Auto:
      if (is_blocked(found, "freeze") && is_blocked(found, "clone")) return ErrorKind::Os;
      break;
    case Hold::Nothing: break;
  }
  return std::nullopt;
}

void add_resource(const Opened& opened, Examination& found) {
  found.resource = opened.resource;
  found.no_resource = opened.no_resource;
}

Result<Examination> examine(const TakeOptions& options) {
  const Process process = HA_TRY(Process::open(options.request.pid));
  Examination found;
  found.pid = process.pid();
  if (auto exe = process.read_link("exe")) found.exe = std::move(*exe);
  if (const auto status = process.thread_status(process.pid())) found.user = status->effective_uid;
  look_at_threads(process, found);
  if (const auto allowed = check_may_trace(process); !allowed) {
    if (!process.is_alive()) return allowed.error();
    found.obstacles.push_back({"any", allowed.error().text()});
    found.refusal = allowed.error().kind;
    return found;
  }
  const auto target = learn(options);
  if (!target) {
    const ErrorKind kind = target.error().kind;
    const bool is_over = kind == ErrorKind::Gone || kind == ErrorKind::Interrupted;
    if (is_over || kind == ErrorKind::Timeout) return target.error();
    found.obstacles.push_back({"any", target.error().text()});
    found.refusal = kind;
    return found;
  }
  look_at_symbols(**target, found);
  add_resource(**target, found);
  found.heap = heap_facts(**target, options.request.deadline);
  found.gap = foreseen_gap(**target);
  add_obstacles(**target, options.request.longest_pause(), found);
  if (found.gap.empty() && options.hold == Hold::Nothing) found.gap = kReadWhileRunning;
  found.refusal = refusal_of(options.hold, found);
  return found;
}

}  // namespace heapattach::snapshot
