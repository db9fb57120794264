// While it is traced, a program forks, starts another program, or changes something that the trace
// relies on.

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"
#include "report/trace/find_hooks.h"
#include "report/trace/prepared.h"

namespace heapattach {

namespace {

bool has_warning(const trace::Trace& trace, std::string_view words) {
  return std::ranges::any_of(trace.header.warnings, [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

// A process in which the loader has mapped a module, but relocated nothing in it yet.
class BeforeRelocation final : public MemoryReader {
 public:
  BeforeRelocation(const MemoryReader& memory, const Module& module)
      : memory_(memory), module_(module) {}
  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    const auto bytes = module_.file_bytes(from);
    if (bytes.empty()) return memory_.read_some(from, into);
    const std::size_t count = std::min(bytes.size(), into.size());
    std::copy_n(bytes.begin(), count, into.begin());
    return count;
  }

 private:
  const MemoryReader& memory_;
  const Module& module_;
};

// The name and the position of each entry, and how it is hooked.
std::set<std::string> entries_of(const trace::Hooks& hooks) {
  std::set<std::string> entries;
  for (const trace::Entry& entry : hooks.allocations) {
    entries.insert(fmt::format("{} at {:#x}, {}, {}", entry.name, entry.at.value, entry.leads_on,
                               entry.is_led));
  }
  return entries;
}

// Whether the kernel can tell which processes share memory. If not, prints that the test is
// skipped.
bool has_kcmp() {
  constexpr int kKcmpMemory = 1;  // KCMP_VM
  if (syscall(SYS_kcmp, getpid(), getpid(), kKcmpMemory, 0, 0) == 0) return true;
  print_skip("the kernel has no kcmp(2), or forbids it");
  return false;
}

}  // namespace

TEST_CASE("a program that the loader has not relocated yet has the same entries to hook") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1"});
  HookedTarget tracer(target.pid());
  const auto collector = trace::find_collector(tracer.opened).value();
  const auto modules = tracer.opened.modules.all();
  const auto module = std::ranges::find_if(
      modules, [&](const Module& one) { return one.name() == collector.module; });
  REQUIRE(module != modules.end());
  const BeforeRelocation memory(tracer.opened.memory, *module);
  const auto early = trace::find_hooks(tracer.opened.modules, collector, memory).value();
  CHECK(entries_of(early.hooks) == entries_of(tracer.hooks));
}

TEST_CASE("children of fork and vfork run on, and are not in the trace of their parent") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"2", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  int asked = 0;
  Answer after;
  const trace::Trace trace = trace_until(target, 64 << 10, [&] {
    after = target.ask(asked % 2 == 0 ? "fork" : "vfork");
    return ++asked == 6;
  });
  CHECK(after["children"] == 6);
  CHECK(after["bad"] == 0);
  auto sites = sites_of(trace);
  CHECK(sites["make_small"].samples > 0);
  CHECK(sites["make_in_child"].samples == 0);
  CHECK(is_working(target));
  CHECK(difference(before, lasting_traces(target)) == "");
}

TEST_CASE("a process that shares the memory but is not stopped keeps a trace from beginning") {
  if (!is_target_built(kAllocating)) return;
  if (!has_kcmp()) return;
  LiveTarget target(kAllocating, {"2", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  target.ask("share");
  const std::vector<std::string> arguments{"trace", "--for", "100ms", "--no-mark",
                                           fmt::format("{}", target.pid())};
  const ToolRun run = run_tool(arguments);
  CHECK(run.status == 1);
  CHECK_MESSAGE(run.errors.find("shares its memory") != std::string::npos, run.errors);
  target.ask("unshare");
  CHECK(is_working(target));
  CHECK(difference(before, lasting_traces(target)) == "");
  const ToolRun allowed = run_tool(arguments);
  CHECK_MESSAGE((allowed.status == 0 || allowed.status == 7), allowed.errors);
}

TEST_CASE("code that a process which is not stopped may run stays until that process has ended") {
  if (!is_target_built(kAllocating)) return;
  if (!has_kcmp()) return;
  LiveTarget target(kAllocating, {"2", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  HookedTarget tracer(target.pid());
  auto installed = tracer.install();
  REQUIRE(installed);
  target.ask("share");
  const auto removed = (*installed)->leave();
  REQUIRE(removed);
  CHECK_FALSE(removed->is_whole);
  CHECK_MESSAGE(removed->why.find("shares its memory") != std::string::npos, removed->why);
  CHECK(is_working(target));
  target.ask("unshare");
  installed->reset();  // otherwise it would still read its ring
  static_cast<void>(run_tool({"-q", "--count", fmt::format("{}", target.pid())}));
  CHECK(difference(before, lasting_traces(target)) == "");
  CHECK(is_working(target));
}

TEST_CASE("a traced process that starts another program ends the trace, which says so") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1"});
  bool has_asked = false;
  const trace::Trace trace = trace_until(target, 1, [&] {
    if (!has_asked) target.ask("run 100");
    if (!std::exchange(has_asked, true)) target.child().send_line("exec");
    return false;
  });
  CHECK_FALSE(trace.header.complete);
  CHECK(trace.header.reason == "the process runs another program now");
  CHECK_FALSE(trace.header.gc_bytes_at_end.has_value());
  CHECK(target.read_line() == "ready");
  CHECK(is_working(target));
  CHECK(traces_of(target.pid()).mappings.find("heapattach") == std::string::npos);
}

TEST_CASE("a program that sets a handler of its own while it is traced keeps it") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"2", "free"});
  REQUIRE(is_working(target));
  bool has_asked = false;
  const trace::Trace trace = trace_until(target, 64 << 10, [&] {
    if (!std::exchange(has_asked, true)) target.ask("handler");
    return target.ask()["events"] > 3;
  });
  CHECK(has_warning(trace, "what is in use is unknown"));
  // The program's new handler may call the one that it has replaced, so that stays in the program.
  CHECK(has_warning(trace, "the program has set another handler of collection events"));
  Answer now = target.ask();
  CHECK(now["own_handler"] == 1);
  CHECK(is_working(target));
  CHECK(target.ask("collect")["events"] > now["events"]);
}

}  // namespace heapattach
