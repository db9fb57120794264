// --diagnose on programs that put themselves into known states, incidents and healthy ones. A
// healthy program must not be called anything else.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/sysinfo.h>

#include "integration/control_group.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

constexpr std::string_view kRubyProgram = "/usr/bin/ruby";

// Works: the program is healthy, but may be called busy if no pause in its work is seen.
enum class Truth { Healthy, Works, Unusual, Fault };

struct DiagnosedCase {
  std::string program;
  std::vector<std::string> arguments;
  std::string verdict;
  Truth truth = Truth::Healthy;
  std::string named;  // the cause, which the first line must name; may be empty
};

std::vector<DiagnosedCase> incidents_in_c() {
  const std::string one = "diagnosed";
  return {
      {one, {"deadlock"}, "deadlock", Truth::Fault, "waits for accounts"},
      {one, {"lost_lock"}, "lost_lock", Truth::Fault, "the mutex accounts"},
      {one, {"all_waiting"}, "all_waiting", Truth::Fault, "all 2 threads"},
      {one, {"spin"}, "busy", Truth::Unusual, "in spin (diagnosed.c"},
      {one, {"leak"}, "leaking", Truth::Fault, "5000 objects of 56 bytes"},
      {one, {"large_leak"}, "leaking", Truth::Fault, "3 objects"},
      {one, {"fragmented"}, "fragmented", Truth::Unusual, "malloc's heap are free"},
      {one, {"mapped_file"}, "outside", Truth::Unusual, "/tmp/diagnosed-data."},
      {one, {"own_pool"}, "outside", Truth::Unusual, "in anonymous memory"},
      {one, {"descriptors"}, "limit", Truth::Fault, "of 256 descriptors"},
      {one, {"same_file"}, "descriptors", Truth::Unusual, "/etc/hostname"},
      {one, {"mappings"}, "limit", Truth::Fault, "memory mappings"},
      {one, {"lost_lock_of_many"}, "lost_lock", Truth::Fault, "200 threads wait"},
      {one, {"untrimmed"}, "untrimmed", Truth::Unusual, "malloc_trim(0) would return"},
      {one, {"many_files"}, "outside", Truth::Unusual, "200 files in /tmp/diagnosed-parts."},
      {one, {"large_table"}, "outside", Truth::Unusual, "in variables of the program"},
      {one, {"shared_memory"}, "outside", Truth::Unusual, "in shared memory"},
      {one, {"own_break"}, "outside", Truth::Unusual, "below the program break"},
      {one, {"address_space"}, "limit", Truth::Fault, "RLIMIT_AS"},
      {one, {"deep_stack"}, "limit", Truth::Fault, "RLIMIT_STACK"},
      {one, {"hidden"}, "leaking", Truth::Fault, "to which no reference was found"},
      {"deadlock", {}, "deadlock", Truth::Fault, "ring-0"},
  };
}

std::vector<DiagnosedCase> health_in_c() {
  const std::string one = "diagnosed";
  return {
      {one, {"idle"}, "healthy", Truth::Healthy, "in 1 thread"},
      {one, {"pool"}, "healthy", Truth::Healthy, "in 9 threads"},
      {one, {"take_turns"}, "healthy", Truth::Healthy, "3 threads wait"},
      {one, {"cache"}, "healthy", Truth::Healthy, ""},
      {one, {"repeated"}, "healthy", Truth::Healthy, ""},
      {one, {"few_lost"}, "healthy", Truth::Healthy, "leaks"},
      {one, {"freed"}, "healthy", Truth::Healthy, ""},
      {one, {"connections"}, "healthy", Truth::Healthy, ""},
      {one, {"churn"}, "healthy", Truth::Works, ""},
      {one, {"never_malloc"}, "healthy", Truth::Healthy, "in anonymous memory"},
      {"sleeper", {}, "healthy", Truth::Healthy, ""},
      {"allocates_musl", {}, "healthy", Truth::Healthy, ""},
      {"known_live_set", {}, "healthy", Truth::Healthy, "the collector's heap"},
      {"collecting", {}, "healthy", Truth::Works, ""},
  };
}

std::vector<DiagnosedCase> of_cxx() {
  return {
      {"malloced", {}, "leaking", Truth::Fault, "5 objects of"},
      {"pipeline", {}, "healthy", Truth::Works, ""},
      {"containers", {}, "healthy", Truth::Healthy, ""},
      {"mallocing", {}, "healthy", Truth::Works, ""},
  };
}

std::vector<DiagnosedCase> of_crystal() {
  const std::string one = "hanging_default";
  return {
      {one, {"locks"}, "deadlock", Truth::Fault, "Ledger#report"},
      {one, {"exchange"}, "deadlock", Truth::Fault, "Exchange#answer"},
      {one, {"channels", "4"}, "deadlock", Truth::Fault, "all 5 fibers"},
      {one, {"spin", "3"}, "busy", Truth::Unusual, "in spin_in_place"},
      {one, {"io"}, "healthy", Truth::Healthy, ""},
      {"service_default", {}, "healthy", Truth::Healthy, "global STORE"},
      {"holders_default", {}, "healthy", Truth::Healthy, ""},
  };
}

std::vector<DiagnosedCase> of_ruby() {
  const std::string script = TARGETS "/diagnosed.rb";
  const std::string ruby(kRubyProgram);
  return {
      {ruby, {script, "deadlock"}, "deadlock", Truth::Fault, "waits for Mutex"},
      {ruby, {script, "spin"}, "busy", Truth::Unusual, "diagnosed.rb"},
      {ruby, {script, "idle"}, "healthy", Truth::Healthy, ""},
      {ruby, {script, "workers"}, "healthy", Truth::Healthy, "in 5 threads"},
      {ruby, {script, "cache"}, "healthy", Truth::Healthy, ""},
  };
}

std::string severity_in(Truth truth) {
  return truth == Truth::Fault ? R"("found":true)" : R"("found":false)";
}

void check_case(const DiagnosedCase& one) {
  CAPTURE(one.program);
  CAPTURE((one.arguments.empty() ? std::string() : one.arguments.back()));
  LiveTarget target(one.program, one.arguments);
  const ToolRun run =
      run_tool({"diagnose", "-f", "json", "--fail-if", "found", fmt::format("{}", target.pid())});
  INFO(run.output);
  INFO(run.errors);
  CHECK(run.status == (one.truth == Truth::Fault ? 10 : 0));
  const bool is_busy = run.output.find(R"("verdict":"busy")") != std::string::npos;
  const bool is_right =
      run.output.find(fmt::format(R"("verdict":"{}")", one.verdict)) != std::string::npos;
  CHECK((is_right || (is_busy && one.truth == Truth::Works)));
  CHECK(run.output.find(severity_in(one.truth)) != std::string::npos);
  const std::size_t sentence = run.output.find(R"("sentence":)");
  CHECK(run.output.find(one.named, sentence) < run.output.find(R"("found":)"));
  CHECK(harm_done_to(target.pid()) == "");
}

void check_cases(const std::vector<DiagnosedCase>& cases) {
  for (const DiagnosedCase& one : cases) {
    if (one.program.starts_with('/') || is_target_built(one.program)) check_case(one);
  }
}

}  // namespace

TEST_CASE("each incident of a program in C gets its verdict") {
  if (skips_as_reading_takes_memory()) return;
  check_cases(incidents_in_c());
}

TEST_CASE("no healthy program in C raises an alarm") {
  if (skips_as_reading_takes_memory()) return;
  check_cases(health_in_c());
}

TEST_CASE("a lock that fork copied is named as its parent's") {
  LiveTarget target("diagnosed", {"forked_lock"});
  const ToolRun run =
      run_tool({"diagnose", "-f", "json", std::to_string(target.greeting().at("child"))});
  INFO(run.output);
  CHECK(run.output.find(R"("verdict":"lost_lock")") != std::string::npos);
  CHECK(run.output.find(fmt::format("a thread of the parent, process {}:", target.pid())) !=
        std::string::npos);
}

TEST_CASE("threads that nobody wakes are shown with what they wait for") {
  LiveTarget target("diagnosed", {"all_waiting"});
  const ToolRun run = run_tool({"diagnose", std::to_string(target.pid())});
  INFO(run.output);
  CHECK(run.output.find("in worker (diagnosed.c:83), on a condition variable\n") !=
        std::string::npos);
  CHECK(run.output.find("in all_waiting (diagnosed.c:92), for the end of a thread\n") !=
        std::string::npos);
}

TEST_CASE("growth since a snapshot is a fault, and names what is new") {
  const TemporaryDirectory directory;
  LiveTarget target("diagnosed", {"grow"});
  const std::string pid = std::to_string(target.pid());
  const std::string before = directory.file("before.jsonl");
  REQUIRE(run_tool({"-o", before, pid}).status == 0);
  const std::vector<std::string> look{"diagnose", "--fail-if", "found", "--baseline", before, pid};
  CHECK(run_tool(look).status == 0);
  CHECK(target.ask("grow").at("grown") == 1);
  const ToolRun run = run_tool(look);
  INFO(run.output);
  CHECK(run.status == 10);
  CHECK(run.output.starts_with("growing: the live objects have grown from "));
  CHECK(run.output.find("20000 new (104 bytes)") != std::string::npos);
}

TEST_CASE("a process whose memory is swapped out is unusual") {
  constexpr std::uint64_t kNeeded = 256U << 20U;
  struct sysinfo memory {};
  REQUIRE(::sysinfo(&memory) == 0);
  if (memory.freeswap * memory.mem_unit < kNeeded) return print_skip("no swap space");
  LiveTarget target("diagnosed", {"swapped"});
  const ToolRun run = run_tool({"diagnose", "--fail-if", "found", std::to_string(target.pid())});
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK(run.output.starts_with("swapped out: "));
}

TEST_CASE("a control group that is nearly full is a fault") {
  if (skips_as_reading_takes_memory()) return;
  const LimitedGroup group(64 << 20);
  if (!group.exists()) return;
  {
    LiveTarget target("diagnosed", {"fill_group"});
    const std::string pid = std::to_string(target.pid());
    REQUIRE(group.take(target.pid()));
    CHECK(run_tool({"diagnose", "--fail-if", "found", pid}).status == 0);
    CHECK(target.ask("fill").at("filled") == 1);
    const ToolRun run = run_tool({"diagnose", "--fail-if", "found", pid});
    INFO(run.output);
    CHECK(run.status == 10);
    CHECK(run.output.find("its control group uses 6") != std::string::npos);
  }
}

TEST_CASE("repeated strings are a remark, which does not show them") {
  LiveTarget target("diagnosed", {"repeated"});
  const ToolRun run = run_tool({"diagnose", "-f", "json", std::to_string(target.pid())});
  INFO(run.output);
  CHECK(run.output.find(R"({"kind":"repeated","severity":"remark")") != std::string::npos);
  CHECK(run.output.find("50000 char[] have one text of 42 bytes") != std::string::npos);
  CHECK(run.output.find("each session") == std::string::npos);
}

TEST_CASE("a snapshot that proves a fault names it when it is written") {
  if (skips_as_reading_takes_memory()) return;
  const TemporaryDirectory directory;
  LiveTarget hung("diagnosed", {"deadlock"});
  const ToolRun run = run_tool({"-o", directory.file("hung.jsonl"), std::to_string(hung.pid())});
  CHECK(run.status == 0);
  CHECK(run.errors.starts_with("deadlock: thread "));
  const auto first_line = [&](const char* incident) {
    LiveTarget target("diagnosed", {incident});
    const std::string file = directory.file(fmt::format("{}.jsonl", incident));
    const std::string text = run_tool({"-o", file, std::to_string(target.pid())}).errors;
    return text.substr(0, text.find('\n'));
  };
  CHECK(first_line("descriptors").starts_with("near a limit: "));
  const std::string leaked = first_line("large_leak");
  CAPTURE(leaked);
  CHECK(leaked.find("have no reference; \"heapattach diagnose ") != std::string::npos);
  LiveTarget idle("diagnosed", {"idle"});
  const ToolRun healthy =
      run_tool({"-o", directory.file("idle.jsonl"), std::to_string(idle.pid())});
  CHECK(healthy.errors.find("live of") < healthy.errors.find('\n'));
}

TEST_CASE("a snapshot says what it cannot show, and a pipe has no next command") {
  const TemporaryDirectory directory;
  LiveTarget target("diagnosed", {"idle"});
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-o", file, std::to_string(target.pid())}).status == 0);
  const ToolRun run = run_tool({"diagnose", file});
  CHECK(run.output.find("; leaks cannot be judged, because the file has only reachable objects") <
        run.output.find('\n'));
  CHECK(run.output.find("next: heapattach") != std::string::npos);
  const ToolRun piped = run_in_shell("\"$0\" diagnose /dev/stdin < <(cat \"$1\")", {file});
  CHECK(piped.status == 0);
  CHECK(piped.output.find("next:") == std::string::npos);
}

TEST_CASE("incidents and health of programs in C++ are told apart") {
  check_cases(of_cxx());
}

TEST_CASE("incidents and health of programs in Crystal are told apart") {
  check_cases(of_crystal());
}

TEST_CASE("incidents and health of programs in Ruby are told apart") {
  if (!std::filesystem::exists(kRubyProgram)) return print_skip("ruby is not installed");
  check_cases(of_ruby());
}

}  // namespace heapattach
