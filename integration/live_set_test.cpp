#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "attach/capture.h"
#include "attach/freeze.h"
#include "attach/live_memory.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/live.h"

// The truth test: what we find alive in a process against what its collector lists itself.

using namespace heapattach;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

struct Seen {
  std::map<std::uint64_t, std::uint64_t> live;  // address -> bytes
  std::set<std::uint64_t> free;                 // on free lists
  std::size_t thread_lists = 0;
  std::size_t records = 0;
  std::size_t unreadable = 0;  // blocks
  std::size_t skipped = 0;     // entries of the index
};

Seen look_at(pid_t pid) {
  const Process process = must(Process::open(pid));
  MemoryMap map = must(process.maps());
  const LiveMemory memory(process, must(LiveMemory::open_mem(process)));
  const Modules modules = must(Modules::load(process, memory, map, {}));
  const boehm::Collector collector = must(boehm::find_collector(modules, memory, map));
  Capture capture(must(Arena::reserve(std::size_t{1} << 30, 0)));
  boehm::BlockIndex index;
  boehm::Roots roots;
  roots.pid = pid;
  roots.ranges = boehm::module_roots(modules, collector);
  roots.collector_data = boehm::collector_data(modules, collector);
  roots.kinds = collector.kinds;
  const auto copy = [&](const FrozenView& view) -> Result<void> {
    map = HA_TRY(process.maps());
    index = HA_TRY(boehm::read_blocks(memory, map, collector.layout));
    roots.threads = view.threads;
    for (auto& stack : boehm::stack_roots(view.threads, map)) roots.ranges.push_back(stack);
    const auto heap = boehm::plan_copy(index, collector.layout);
    HA_TRY(capture.add(memory, heap, {}));
    HA_TRY(
        capture.add(memory, boehm::plan_copy(roots.ranges, roots.collector_data, heap, map), {}));
    if (collector.stack_bottom) {
      roots.stack_bottom = HA_TRY(memory.read_as<RemoteAddr>(*collector.stack_bottom));
    }
    return {};
  };
  must(while_frozen(process, {}, copy));

  boehm::Heap heap(index, collector.layout, capture);
  const boehm::LiveSet found = boehm::find_live(heap, capture, roots, map, 2);
  Seen seen;
  seen.records = found.records.size();
  seen.unreadable = heap.unreadable_blocks();
  seen.skipped = index.skipped;
  for (const auto& record : found.records) seen.thread_lists += record.list_heads.size();
  const auto blocks = static_cast<std::uint32_t>(heap.blocks().size());
  boehm::for_each_object(heap, found.live, 0, blocks, [&](boehm::ObjectRef ref) {
    seen.live[heap.address(ref).value] = heap.blocks()[ref.block].object_bytes;
  });
  boehm::for_each_object(heap, found.free, 0, blocks,
                         [&](boehm::ObjectRef ref) { seen.free.insert(heap.address(ref).value); });
  return seen;
}

}  // namespace

TEST_CASE("what is alive is what the collector lists, but for the links of free lists") {
  LiveTarget target("known_live_set");
  const Seen seen = look_at(target.pid());
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(seen.unreadable == 0);
  CHECK(seen.skipped == 0);
  CHECK(seen.records >= 5);
  CHECK(seen.thread_lists > 0);

  const auto count = target.ask("list").at("listed");
  CHECK(count > 5000);
  std::size_t missed = 0;
  std::size_t links = 0;
  std::set<std::uint64_t> listed;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    const std::string line = target.read_line();
    REQUIRE(std::sscanf(line.c_str(), "%" SCNx64 " %" SCNx64, &address, &bytes) == 2);
    listed.insert(address);
    const auto found = seen.live.find(address);
    if (found != seen.live.end()) {
      CHECK(found->second == bytes);
    } else if (seen.free.count(address) != 0) {
      ++links;
    } else {
      ++missed;
      if (missed < 20) MESSAGE("not found: " << line);
    }
  }
  std::size_t unlisted = 0;
  for (const auto& [address, bytes] : seen.live) {
    if (listed.count(address) != 0) continue;
    ++unlisted;
    if (unlisted < 20) MESSAGE("not listed: " << fmt::format("{:x} {}", address, bytes));
  }
  MESSAGE(fmt::format("{} listed, {} found, {} links of free lists, {} missed, {} unlisted", count,
                      seen.live.size(), links, missed, unlisted));
  CHECK(missed == 0);
  CHECK(unlisted == 0);
  CHECK(links > 0);

  // A stale word somewhere may keep what should be dead; then it keeps it for the collector too.
  int dead = 0;
  int kept = 0;
  for (auto rest = target.ask("known").at("known"); rest > 0; --rest) {
    const std::string line = target.read_line();
    int alive = 0;
    std::uint64_t address = 0;
    REQUIRE(std::sscanf(line.c_str(), "%d %" SCNx64, &alive, &address) == 2);
    INFO(line);
    const bool is_found = seen.live.count(address) != 0;
    if (alive != 0) {
      CHECK(is_found);
    } else {
      ++dead;
      kept += is_found ? 1 : 0;
    }
  }
  CHECK(dead >= 8);
  CHECK(kept <= 1);
}
