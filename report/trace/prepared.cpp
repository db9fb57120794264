#include "report/trace/prepared.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "inject/trace/arch/vdso_clock.h"
#include "report/trace/find_malloc.h"
#include "symbols/boehm/source.h"
#include "symbols/crystal/type_sources.h"
#include "symbols/malloc/source.h"

namespace heapattach::trace {

Result<boehm::Collector> find_collector(snapshot::Opened& target, const Deadline& deadline) {
  return target.find_as_map_grows(
      [&] { return boehm::find_collector(target.modules, target.memory, target.map, deadline); });
}

namespace {

// Keeps the ends of threads' and fibers' stacks, which a trace of a program with a collector needs
// even if the collector's heap is not traced.
void keep_stacks_only(Hooks& hooks) {
  Hooks kept;
  kept.stack_bottom = hooks.stack_bottom;
  kept.thread_records = std::move(hooks.thread_records);
  kept.clock = hooks.clock;
  hooks = std::move(kept);
}

// A program that has a collector but has not used it yet must not be taken for one without.
bool has_collector(const Modules& modules) {
  return modules.find_symbol("GC_malloc").has_value();
}

Result<void> find_collectors_functions(const Request& request, Prepared& prepared) {
  snapshot::Opened& target = prepared.target;
  prepared.collector = HA_TRY(find_collector(target, request.deadline));
  prepared.found =
      HA_TRY(find_hooks(target.modules, *prepared.collector, target.memory, request.deadline));
  return {};
}

Result<void> find_mallocs_functions(const Request& request, bool may_copy, Prepared& prepared) {
  Hooks& hooks = prepared.found.hooks;
  hooks.of_malloc = HA_TRY(find_malloc(prepared.target, request, may_copy, prepared.found.notes));
  prepared.traces_malloc = true;
  if (const auto clock = prepared.target.modules.find_symbol(kVdsoClock)) {
    hooks.clock = clock->address;
  }
  return {};
}

bool is_asked(const snapshot::HeapChoice& heap, const heap::Kind& kind) {
  return heap.all || heap.key == kind.key;
}

Result<void> check_choice(const snapshot::HeapChoice& heap) {
  if (heap.is_auto() || is_asked(heap, boehm::kHeapKind) || is_asked(heap, glibc::kHeapKind)) {
    return {};
  }
  return Error{ErrorKind::Unsupported,
               fmt::format("allocations of the heap {} cannot be traced", heap.key)}
      .advise("--heap malloc, which traces what the process allocates with malloc");
}

}  // namespace

Result<Prepared> prepare(const Request& request, const snapshot::HeapChoice& heap, bool may_copy) {
  HA_TRY(check_choice(heap));
  Prepared prepared{.target = HA_TRY(snapshot::Opened::open(request))};
  const bool is_malloc_asked = is_asked(heap, glibc::kHeapKind);
  const bool is_collector_asked = is_asked(heap, boehm::kHeapKind);
  auto collectors = find_collectors_functions(request, prepared);
  const bool has_one = prepared.collector || has_collector(prepared.target.modules);
  const bool must_have = is_collector_asked || (heap.is_auto() && has_one);
  prepared.traces_collector = collectors.has_value() && (is_collector_asked || heap.is_auto());
  if (!collectors && must_have) return collectors.error();
  if (!prepared.traces_collector) {
    keep_stacks_only(prepared.found.hooks);
    prepared.found.total.clear();
    prepared.found.notes.clear();
  }
  if (is_malloc_asked || !prepared.traces_collector) {
    HA_TRY(find_mallocs_functions(request, may_copy, prepared));
    prepared.found.total.clear();  // they lack malloc's bytes
  }
  return prepared;
}

namespace {

// Learns only named classes, and only calls that make objects of one class.
Result<void> learn_crystal_types(const Request& request, Prepared& prepared) {
  std::vector<crystal::TypeList> lists;
  if (!request.type_info.empty()) {
    lists = HA_TRY(crystal::read_type_info(request.type_info, request.deadline));
  }
  auto scan = crystal::scan_allocators(prepared.target.modules, prepared.target.memory);
  if (!scan || (!scan->is_crystal && lists.empty())) return {};
  prepared.is_crystal = scan->is_crystal;
  crystal::JoinedTypes joined = crystal::join_types(std::move(lists), *std::move(scan));
  for (const crystal::Type& type : joined.table.types()) {
    for (const std::uint64_t at : type.made_at) {
      const auto [known, is_new] = prepared.types.try_emplace(at, type.name);
      if (!is_new && known->second != type.name) known->second.clear();
    }
  }
  prepared.classes = std::move(joined.table);
  return {};
}

}  // namespace

Result<void> learn_types(const Request& request, Prepared& prepared) {
  HA_TRY(learn_crystal_types(request, prepared));
  const snapshot::Opened& target = prepared.target;
  // Crystal's own objects are the collector's.
  prepared.objects =
      ObjectTypes(prepared.traces_collector ? prepared.classes : crystal::TypeTable{},
                  target.modules, target.memory);
  return {};
}

std::optional<std::uint64_t> total_bytes(const Prepared& prepared) {
  if (prepared.found.total.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  for (const RemoteAddr variable : prepared.found.total) {
    const auto value = prepared.target.memory.read_as<std::uint64_t>(variable);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

std::optional<double> current_rate(const Prepared& prepared) {
  constexpr std::chrono::milliseconds kRateTime{100};
  const auto begin = std::chrono::steady_clock::now();
  const auto before = total_bytes(prepared);
  std::this_thread::sleep_for(kRateTime);
  const auto after = total_bytes(prepared);
  if (!before || !after || *after < *before) return std::nullopt;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(*after - *before) / time.count();
}

std::optional<std::uint64_t> collections_so_far(const Prepared& prepared) {
  const RemoteAddr variable = prepared.found.hooks.collections;
  if (variable.value == 0) return std::nullopt;
  const auto count = prepared.target.memory.read_as<std::uint64_t>(variable);
  return count ? std::optional(*count) : std::nullopt;
}

}  // namespace heapattach::trace
