// HAZARDS D9: processes with unusual mappings, and with rings of io_uring that have requests under
// way. They are read and copied, and functions are called in them, without harm. Memory that was
// never touched stays untouched.

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attach/base/page.h"
#include "attach/memory/live_memory.h"
#include "attach/process/memory_map.h"
#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

void check_as_it_was(LiveTarget& target) {
  const Answer answer = target.ask();
  CHECK(answer.at("wrong") == 0);
  CHECK(answer.at("ring") == 1);
  CHECK(answer.at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

RemoteAddr place(const LiveTarget& target, const char* name) {
  return {static_cast<std::uint64_t>(target.greeting().at(name))};
}

// Reads everything that can be read, page by page, and returns the number of pages.
std::size_t read_pages(const MemoryReader& memory, const MemoryMap& map) {
  constexpr std::uint64_t kPage = 4096;
  std::size_t read = 0;
  for (const Mapping& mapping : map.mappings()) {
    for (std::uint64_t at = 0; at < mapping.range.bytes; at += kPage) {
      read += memory.read_as<std::uint64_t>(mapping.range.start + at) ? 1U : 0U;
    }
  }
  return read;
}

// The bytes of a process's private anonymous memory that have pages, including the kernel's page of
// zeros.
std::uint64_t present_bytes(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  std::ifstream text(directory + "/maps");
  std::ifstream pagemap(directory + "/pagemap", std::ios::binary);
  const auto map = parse_maps(std::string(std::istreambuf_iterator<char>(text), {}));
  REQUIRE(map);
  std::uint64_t pages = 0;
  for (const Mapping& mapping : map->mappings()) {
    if (!mapping.is_anonymous() || !mapping.is_private || mapping.path.starts_with("[v")) continue;
    pagemap.seekg(static_cast<std::streamoff>(mapping.range.start.value / page_bytes() * 8));
    for (std::uint64_t at = 0; at < mapping.range.bytes; at += page_bytes()) {
      std::uint64_t page = 0;
      pagemap.read(reinterpret_cast<char*>(&page), sizeof page);
      pages += page >> 63;
    }
  }
  return pages * page_bytes();
}

}  // namespace

// The target has 100 MiB of variables, and has touched few of them.
TEST_CASE("memory that the target never touched stays untouched") {
  for (const char* report : {"--count", "diagnose", "leaks", "--stacks", "--summary"}) {
    CAPTURE(report);
    LiveTarget target("diagnosed", {"large_leak"});
    const std::uint64_t before = present_bytes(target.pid());
    const ToolRun run = run_tool({report, std::to_string(target.pid())});
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK(present_bytes(target.pid()) < before + (std::uint64_t{2} << 20));
  }
}

TEST_CASE("a process with rings, huge, wiped, shared and truncated pages is copied and read") {
  LiveTarget target("odd_memory");
  if (target.greeting().at("ring") == 0) print_skip("io_uring is not to be had here");
  const Traces before = traces_of(target.pid());
  for (int i = 0; i < rounds(5, 200); ++i) {
    const auto report = clone_once(target.pid(), {}, [&](const Clone& clone) -> Result<void> {
      const LiveMemory memory(clone.process(), HA_TRY(LiveMemory::open_mem(clone.process())),
                              LiveMemory::By::MemFile);
      const MemoryMap map = HA_TRY(clone.process().maps());
      CHECK(read_pages(memory, map) > 1000);
      CHECK(HA_TRY(memory.read_as<std::uint64_t>(place(target, "wiped"))) == 0);
      CHECK(HA_TRY(memory.read_as<std::uint64_t>(place(target, "shared"))) != 0);
      return {};
    });
    REQUIRE_MESSAGE(report.has_value(), why(report));
    const ToolRun stacks = run_tool({"--stacks", std::to_string(target.pid())});
    CHECK_MESSAGE(stacks.status == 0, stacks.errors);
    check_as_it_was(target);
  }
  CHECK(difference(before, traces_of(target.pid())) == "");
}

TEST_CASE("functions run in a copy of such a process, under Landlock or not") {
  for (const char* how : {"", "landlock"}) {
    LiveTarget target("odd_memory", {how});
    const Traces before = traces_of(target.pid());
    const ToolRun run =
        run_tool({"--call", "abs(-7)", "--returns", "int", std::to_string(target.pid())});
    CHECK_MESSAGE(run.status == 0, how, run.errors);
    CHECK_MESSAGE(run.output == "7\n", how, run.errors);
    check_as_it_was(target);
    CHECK(difference(before, traces_of(target.pid())) == "");
  }
}

TEST_CASE("a process with busy io_uring rings can be frozen, copied and called in") {
  LiveTarget target("ring_busy");
  if (target.greeting().at("ring") == 0) return print_skip("io_uring is not to be had here");
  if (target.greeting().at("polls") == 0) print_skip("no thread of the kernel's polls a ring");
  const std::string pid = std::to_string(target.pid());
  const Traces before = traces_of(target.pid());
  for (int i = 0; i < rounds(1, 50); ++i) {
    for (std::vector<std::string> report : {std::vector<std::string>{"--count"},
                                            {"--count", "--snapshot", "clone"},
                                            {"--stacks"},
                                            {"--call", "abs(-7)", "--returns", "int"}}) {
      CAPTURE(report.front());
      report.push_back(pid);
      const ToolRun run = run_tool(report);
      CHECK_MESSAGE(run.status == 0, run.errors);
      const std::int64_t done = target.ask().at("done");
      CHECK(eventually(std::chrono::seconds(20), [&] { return target.ask().at("done") > done; }));
      CHECK(target.ask().at("wrong") == 0);
      CHECK(harm_done_to(target.pid()) == "");
    }
  }
  CHECK(difference(before, traces_of(target.pid())) == "");
}

// The kernel names its threads "iou-…", and gives them the registers of the thread that made them.
TEST_CASE("the threads of io_uring are shown without frames and calls") {
  LiveTarget target("ring_busy");
  if (target.greeting().at("ring") == 0) return print_skip("io_uring is not to be had here");
  const auto is_of_ring = [](std::string_view thread) {
    return thread.find("\"name\":\"iou-") != std::string_view::npos;
  };
  const ToolRun run = run_tool({"--stacks", "-f", "json", std::to_string(target.pid())});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  std::size_t of_ring = 0;
  constexpr std::string_view kBegin = "{\"tid\":";
  std::string_view text = run.output;
  for (auto at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin)) {
    text.remove_prefix(at + 1);
    const std::string_view thread = text.substr(0, text.find(kBegin));
    INFO(thread);
    CHECK((thread.find("\"kernel\":true") != std::string_view::npos) == is_of_ring(thread));
    if (!is_of_ring(thread)) continue;
    ++of_ring;
    CHECK(thread.find("\"frames\":[]") != std::string_view::npos);
    CHECK(thread.find("\"call\"") == std::string_view::npos);
  }
  CHECK(of_ring > 0);
}

TEST_CASE("a process whose rings are busy is traced, and its requests go on meanwhile") {
  if (!is_target_built("ring_traced")) return;
  LiveTarget target("ring_traced");
  if (target.greeting().at("ring") == 0) return print_skip("io_uring is not to be had here");
  if (target.greeting().at("polls") == 0) print_skip("no thread of the kernel's polls a ring");
  std::int64_t begun = 0;
  const trace::Trace trace = trace_until(target, 1, [&] {
    const std::int64_t done = target.ask().at("done");
    if (begun == 0) begun = done;
    return done > begun + 500;
  });
  CHECK(trace.header.complete);
  CHECK(trace.header.left_in == "");
  CHECK(trace.events.size() > 500);
  const std::int64_t done = target.ask().at("done");
  CHECK(eventually(std::chrono::seconds(20), [&] { return target.ask().at("done") > done + 100; }));
  CHECK(target.ask().at("wrong") == 0);
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(open_files(target.pid(), "heapattach") == 0);
  const std::string maps = read_text("/proc/" + std::to_string(target.pid()) + "/maps");
  CHECK(maps.find("heapattach-ring") == std::string::npos);
}

}  // namespace heapattach
