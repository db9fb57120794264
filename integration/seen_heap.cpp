#include "integration/seen_heap.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "attach/memory/capture.h"
#include "attach/memory/live_memory.h"
#include "attach/stop/freeze.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/live.h"
#include "symbols/boehm/marking_rules.h"
#include "symbols/heap/blocks.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/roots.h"

namespace heapattach {

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(result).value();
}

std::runtime_error misunderstood(const std::string& line) {
  return std::runtime_error("no such line was expected: " + line);
}

}  // namespace

SeenHeap look_at(pid_t pid, Copied copied) {
  const Process process = must(Process::open(pid));
  MemoryMap map = must(process.maps());
  const LiveMemory memory(process, must(LiveMemory::open_mem(process)));
  const Modules modules = must(Modules::load(process, memory, map, {}));
  const boehm::Collector collector = must(boehm::find_collector(modules, memory, map));
  Capture capture(must(Arena::reserve(std::size_t{1} << 30, 0)));
  heap::BlockIndex index;
  boehm::Roots roots;
  roots.pid = pid;
  roots.collector_data = boehm::collector_data(modules, collector);
  roots.kinds = collector.kinds;
  const auto copy = [&](const FrozenView& view) -> Result<void> {
    map = HA_TRY(process.maps());
    index = HA_TRY(boehm::read_blocks(memory, map, collector.layout));
    roots.threads = view.threads;
    roots.tables = boehm::read_root_tables(collector, roots.collector_data, memory);
    roots.ranges = boehm::static_roots(modules, collector, roots.tables);
    for (auto& stack : boehm::stack_roots(view.threads, map)) roots.ranges.push_back(stack);
    const auto heap = boehm::plan_copy(index, collector.layout);
    HA_TRY(capture.add(memory, heap, {}));
    std::vector<Range> more = roots.collector_data;
    for (const Mapping& mapping : map.mappings()) {
      const bool is_own = mapping.readable && mapping.writable && mapping.is_private;
      if (copied == Copied::Everything && is_own) more.push_back(mapping.range);
    }
    HA_TRY(capture.add(memory, heap::plan_copy(roots.ranges, more, heap, map), {}));
    if (collector.stack_bottom) {
      roots.stack_bottom = HA_TRY(memory.read_as<RemoteAddr>(*collector.stack_bottom));
    }
    return {};
  };
  // Other work on the machine may delay the stop of a thread.
  FreezeOptions patient;
  patient.thread_deadline = patient.budget = std::chrono::seconds(20);
  must(while_frozen(process, patient, copy));

  heap::Heap heap = boehm::make_heap(index, collector.layout, capture);
  boehm::follow(heap,
                boehm::read_marking_rules(heap, collector, roots.collector_data, capture, memory));
  boehm::follow(heap,
                boehm::read_marking_rules(heap, collector, roots.collector_data, capture, memory));
  const boehm::LiveSet found = boehm::find_live(heap, capture, roots, map, 2);
  SeenHeap seen;
  seen.records = found.records.size();
  seen.unreadable = heap.unreadable_blocks();
  seen.skipped = index.skipped;
  seen.problems = found.problems;
  for (const auto& record : found.records) seen.thread_lists += record.list_heads.size();
  const auto blocks = static_cast<std::uint32_t>(heap.blocks().size());
  heap::for_each_object(heap, found.live, 0, blocks, [&](heap::ObjectRef ref) {
    seen.live[heap.address(ref).value] = heap.blocks()[ref.block].object_bytes;
  });
  heap::for_each_object(heap, found.free, 0, blocks,
                        [&](heap::ObjectRef ref) { seen.free.insert(heap.address(ref).value); });
  return seen;
}

Difference compare_with_list(LiveTarget& target, const SeenHeap& seen) {
  constexpr std::size_t kShown = 200;
  Difference difference;
  const auto show = [&](const char* what, std::uint64_t address, std::uint64_t bytes) {
    if (difference.first.size() > kShown) return;
    difference.first += fmt::format("{} {:x} {}\n", what, address, bytes);
  };
  std::set<std::uint64_t> listed;
  for (auto rest = target.ask("list").at("listed"); rest > 0; --rest) {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    const std::string line = target.read_line();
    if (std::sscanf(line.c_str(), "%" SCNx64 " %" SCNx64, &address, &bytes) != 2) {
      throw misunderstood(line);
    }
    listed.insert(address);
    const auto found = seen.live.find(address);
    if (found != seen.live.end()) {
      difference.other_sizes += found->second == bytes ? 0U : 1U;
    } else if (seen.free.count(address) != 0) {
      ++difference.links;
    } else {
      ++difference.missed;
      show("not found:", address, bytes);
    }
  }
  difference.listed = listed.size();
  for (const auto& [address, bytes] : seen.live) {
    if (listed.count(address) != 0) continue;
    ++difference.unlisted;
    show("not listed:", address, bytes);
  }
  return difference;
}

std::vector<KnownObject> ask_known(LiveTarget& target) {
  std::vector<KnownObject> known;
  for (auto rest = target.ask("known").at("known"); rest > 0; --rest) {
    int alive = 0;
    KnownObject object{.line = target.read_line()};
    if (std::sscanf(object.line.c_str(), "%d %" SCNx64, &alive, &object.address) != 2) {
      throw misunderstood(object.line);
    }
    object.is_alive = alive != 0;
    known.push_back(std::move(object));
  }
  return known;
}

std::vector<std::string> programs_in(const char* variable, std::vector<std::string> usual) {
  const char* const given = std::getenv(variable);
  if (given == nullptr) return usual;
  std::vector<std::string> programs;
  std::istringstream words(given);
  for (std::string word; std::getline(words, word, ':');) programs.push_back(word);
  return programs;
}

}  // namespace heapattach
