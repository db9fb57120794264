// Tracing malloc in static programs without symbols, whose functions are found by what calls what.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"
#include "report/trace/prove_malloc.h"
#include "report/trace/stripped_glibc.h"
#include "symbols/malloc/source.h"

namespace heapattach {

namespace {

constexpr const char* kStripped[] = {"malloc_sites_static_stripped",
                                     "malloc_sites_musl_static_stripped"};
constexpr snapshot::HeapChoice kMalloc{.key = glibc::kHeapKind.key};

// The allocations of all of the target's places.
std::int64_t made_in(const Answer& answer) {
  std::int64_t sum = 0;
  for (const auto& [name, count] : answer) {
    const bool is_place = name != "rounds" && name != "bad" && name != "children";
    if (is_place && !name.ends_with("_freed")) sum += count;
  }
  return sum;
}

struct Traced {
  trace::Trace trace;
  std::int64_t made = 0;
};
Traced trace_rounds_of(LiveTarget& target) {
  Traced traced;
  const Answer before = target.ask();
  const std::int64_t wanted = before.at("rounds") + 2 * 150;
  bool has_begun = false;
  traced.trace = trace_until(
      target, 1,
      [&] {
        if (!has_begun) target.ask("run 150");
        has_begun = true;
        const Answer now = target.ask();
        traced.made = made_in(now) - made_in(before);
        return now.at("rounds") >= wanted;
      },
      kMalloc);
  return traced;
}

// The reason why these functions are not taken for malloc's; empty if they are.
std::string refusal_of(LiveTarget& target, const trace::Guess& guess) {
  const Request request{.pid = target.pid()};
  auto opened = snapshot::Opened::open(request);
  REQUIRE(opened);
  const std::vector<trace::Guess> guesses{guess};
  const auto proved = trace::prove_malloc(*opened->process, request, guesses, &trace::is_chunk);
  if (proved) return "";
  CHECK(proved.error().kind == ErrorKind::Impossible);
  return proved.error().message();
}

}  // namespace

TEST_CASE("in a stripped static program, every allocation of malloc is recorded once") {
  for (const std::string program : kStripped) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    LiveTarget target(program, {"2"});
    target.ask("leak 1");
    const Traces before = lasting_traces(target);
    const Traced traced = trace_rounds_of(target);
    std::uint64_t recorded = 0;
    for (const auto& [place, site] : sites_of(traced.trace)) recorded += site.samples;
    CHECK(traced.made > 1000);
    CHECK(recorded + traced.trace.header.drops >= static_cast<std::uint64_t>(traced.made));
    if (traced.trace.header.drops == 0) {
      CHECK(recorded == static_cast<std::uint64_t>(traced.made));
    }
    CHECK(target.ask()["bad"] == 0);
    CHECK(difference(before, lasting_traces(target)) == "");
  }
}

TEST_CASE("a stripped static program whose threads never leave malloc is traced unharmed") {
  for (const std::string program : kStripped) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    LiveTarget target(program, {"4", "free", "spawn"});
    REQUIRE(is_working(target));
    const Traces before = lasting_traces(target);
    for (int i = 0; i < rounds(2, 50); ++i) {
      const ToolRun run = run_tool({"leaks", "--heap", "malloc", "--trace", "200ms", "--every",
                                    "1M", fmt::format("{}", target.pid())});
      INFO(run.errors);
      CHECK((run.status == 0 || run.status == 7));
    }
    CHECK(is_working(target));
    // The mappings are also those of its threads, which begin and end.
    const Traces after = lasting_traces(target);
    CHECK(before.code == after.code);
    CHECK(before.files == after.files);
    CHECK(before.children == after.children);
  }
}

TEST_CASE("a stripped static program with a malloc of its own is not traced") {
  for (const std::string program : {"allocates_itself_static", "allocates_itself_musl_static"}) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    LiveTarget target(program);
    const Traces before = lasting_traces(target);
    const ToolRun run = run_tool({"trace", "--for", "1s", fmt::format("{}", target.pid())});
    INFO(run.errors);
    CHECK(run.status == 5);
    CHECK(run.errors.find("a malloc of its own") != std::string::npos);
    CHECK(difference(before, lasting_traces(target)) == "");
  }
}

TEST_CASE("--check of a stripped static program names malloc's functions, and copies nothing") {
  for (const std::string program : kStripped) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    LiveTarget target(program, {"1"});
    target.ask("leak 1");
    const ToolRun run = run_tool({"-v", "--check", fmt::format("{}", target.pid())});
    INFO(run.output, run.errors);
    CHECK(run.output.find("calloc", run.output.find("\ntrace ")) != std::string::npos);
    CHECK(run.output.find("first calls them in a copy") != std::string::npos);
    CHECK(run.errors.find("proved") == std::string::npos);
  }
}

TEST_CASE("functions that are not malloc's are not proved, and harm only a copy") {
  LiveTarget target("malloc_sites", {"1"});
  target.ask("leak 1");
  const auto opened = snapshot::Opened::open(Request{.pid = target.pid()});
  REQUIRE(opened);
  const auto find = [&](std::string_view name) {
    const auto symbol = opened->modules.find_symbol(name);
    REQUIRE(symbol);
    return symbol->address;
  };
  const trace::Guess right{.allocates = find("malloc"),
                           .frees = find("free"),
                           .resizes = find("realloc"),
                           .zeroes = find("calloc"),
                           .aligning = {find("memalign"), find("posix_memalign"), find("pvalloc")}};
  CHECK(refusal_of(target, right) == "");
  struct Wrong {
    std::function<void(trace::Guess&)> change;
    std::string_view reason;
  };
  const std::vector<Wrong> all{
      {[&](auto& guess) { guess.allocates = find("getpid"); }, "malloc was not proved"},
      {[&](auto& guess) { guess.allocates = find("abort"); }, "malloc was not proved"},
      {[&](auto& guess) { guess.frees = find("malloc_usable_size"); }, "free was not proved"},
      {[&](auto& guess) { guess.resizes = find("malloc"); }, "realloc was not proved"},
      {[&](auto& guess) { guess.zeroes = find("malloc"); }, "calloc was not proved"},
      {[&](auto& guess) { guess.zeroes = find("memalign"); }, "calloc was not proved"},
      {[&](auto& guess) { guess.aligning = {find("calloc")}; }, "which aligns, was not proved"},
      {[&](auto& guess) { guess.aligning = {find("malloc_trim")}; }, "which aligns, was not"}};
  for (const Wrong& wrong : all) {
    trace::Guess guess = right;
    wrong.change(guess);
    const std::string reason = refusal_of(target, guess);
    INFO(wrong.reason, ": ", reason);
    CHECK(reason.find(wrong.reason) != std::string::npos);
  }
  CHECK(target.ask()["bad"] == 0);
}

}  // namespace heapattach
