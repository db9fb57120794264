#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "attach/memory/live_memory.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/collector.h"
#include "symbols/heap/blocks.h"

namespace heapattach {

namespace {

// A target as symbols/ sees it. The target waits for questions, so its heap does not change.
struct Seen {
  explicit Seen(pid_t pid, const SymbolSearch& search = {})
      : process(Process::open(pid).value()),
        memory(process, LiveMemory::open_mem(process).value()),
        map(process.maps().value()),
        modules(Modules::load(process, memory, map, search).value()) {}

  Process process;
  LiveMemory memory;
  MemoryMap map;
  Modules modules;
};

bool is_built(const std::string& name) {
  if (std::filesystem::exists(target_path(name))) return true;
  print_skip(fmt::format("{} was not built: there is no static libgc", name));
  return false;
}

// Checks that the collector's own counters were found, and that the blocks add up to them.
void check_account(LiveTarget& target, const Seen& seen, const boehm::Collector& collector) {
  const Answer account = target.ask();
  const heap::Counters counters = boehm::read_counters(collector, seen.memory);
  REQUIRE(counters.heap_bytes);
  REQUIRE(counters.free_bytes);
  REQUIRE(counters.unmapped_bytes);
  const auto unmapped = static_cast<std::int64_t>(*counters.unmapped_bytes);
  CHECK(unmapped == account.at("unmapped"));
  CHECK(static_cast<std::int64_t>(*counters.heap_bytes) - unmapped == account.at("heap"));
  CHECK(static_cast<std::int64_t>(*counters.free_bytes) - unmapped == account.at("free"));
  CHECK(counters.collecting == false);
  CHECK(collector.layout.all_interior_pointers == (account.at("interior") != 0));
  const auto blocks = boehm::read_blocks(seen.memory, seen.map, collector.layout);
  REQUIRE(blocks);
  CHECK(blocks->skipped == 0);
  CHECK(blocks->used_bytes + blocks->free_bytes == *counters.heap_bytes);
  CHECK(blocks->free_bytes == *counters.free_bytes);
}

void check_named(LiveTarget& target, const boehm::Collector& collector) {
  const Answer account = target.ask();
  const auto version = account.at("version");
  CHECK(collector.version ==
        fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff));
  CHECK(collector.layout.source == boehm::Layout::Source::Accessors);
  CHECK(collector.collections);
  CHECK(collector.collecting);
  CHECK(collector.mark_state);
  CHECK(collector.stack_bottom);
  CHECK(collector.excluded.size() == 2);
}

}  // namespace

TEST_CASE("a collector with symbols is found, and its counters are right") {
  for (const std::string name : {"known_counters", "known_counters_static", "known_counters_fixed",
                                 "known_counters_split"}) {
    CAPTURE(name);
    if (!is_built(name)) continue;
    LiveTarget target(name);
    const Seen seen(target.pid());
    const auto collector = boehm::find_collector(seen.modules, seen.memory, seen.map);
    REQUIRE_MESSAGE(collector, (collector ? "" : collector.error().message()));
    check_account(target, seen, *collector);
    check_named(target, *collector);
    const auto counters = boehm::read_counters(*collector, seen.memory);
    CHECK(static_cast<std::int64_t>(counters.collections.value_or(0)) ==
          target.ask().at("collections"));
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a stripped program with a static collector is found by the shape of its index") {
  const std::string name = "known_counters_stripped";
  if (!is_built(name)) return;
  LiveTarget target(name);
  const Seen seen(target.pid());
  const auto collector = boehm::find_collector(seen.modules, seen.memory, seen.map);
  REQUIRE_MESSAGE(collector, (collector ? "" : collector.error().message()));
  CHECK(collector->layout.source == boehm::Layout::Source::Structure);
  CHECK(collector->version.empty());
  CHECK(collector->excluded.size() == 2);
  if (collector->heap_bytes) return check_account(target, seen, *collector);
  // The counters are known for only one release; for others, only the blocks show the heap's size.
  const auto blocks = boehm::read_blocks(seen.memory, seen.map, collector->layout);
  REQUIRE(blocks);
  CHECK(blocks->skipped == 0);
  const Answer account = target.ask();
  CHECK(static_cast<std::int64_t>(blocks->used_bytes + blocks->free_bytes) ==
        account.at("heap") + account.at("unmapped"));
  CHECK(static_cast<std::int64_t>(blocks->free_bytes) ==
        account.at("free") + account.at("unmapped"));
}

TEST_CASE("a program that was deleted since it was started is still read") {
  const std::string name = "known_counters_static";
  if (!is_built(name)) return;
  const std::string copy = "known_counters_deleted";
  std::filesystem::copy_file(target_path(name), target_path(copy),
                             std::filesystem::copy_options::overwrite_existing);
  LiveTarget target(copy);
  std::filesystem::remove(target_path(copy));
  const Seen seen(target.pid());
  const auto collector = boehm::find_collector(seen.modules, seen.memory, seen.map);
  REQUIRE_MESSAGE(collector, (collector ? "" : collector.error().message()));
  check_named(target, *collector);
}

TEST_CASE("a file that differs from what the target has loaded is not used") {
  const std::string name = "known_counters_static";
  if (!is_built(name)) return;
  LiveTarget target(name);
  SymbolSearch search;
  search.exe = target_path("known_counters");
  const Seen seen(target.pid(), search);
  const Module* program = seen.modules.main_program();
  REQUIRE(program != nullptr);
  CHECK(program->symbols().empty());
  REQUIRE(program->notes().size() == 1);
  CHECK(program->notes()[0].find("build id") != std::string::npos);
}

TEST_CASE("modules are the files with code, the program first") {
  LiveTarget target("known_counters");
  const Seen seen(target.pid());
  const auto modules = seen.modules.all();
  REQUIRE(modules.size() >= 4);
  CHECK(modules[0].is_main_program());
  CHECK(modules[0].name() == "target_known_counters");
  const auto size = seen.modules.find_symbol("GC_size");
  REQUIRE(size);
  const Module* libgc = seen.modules.find(size->address);
  REQUIRE(libgc != nullptr);
  CHECK(libgc->name().starts_with("libgc.so"));
  CHECK(libgc->symbol_at(size->address + 1)->name == "GC_size");
  // In memory without relocations, the bytes are those of the file.
  const auto in_file = libgc->file_bytes(size->address).first(16);
  std::array<std::byte, 16> in_memory{};
  REQUIRE(seen.memory.read(size->address, in_memory));
  CHECK(std::equal(in_file.begin(), in_file.end(), in_memory.begin()));
}

}  // namespace heapattach
