// Allocations of malloc may be alive although no aligned word of private memory is their address.
// The targets know what they have leaked.

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "attach/kernel/kept_words.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

// Checks that the leaks in the JSON of `words` are those that the target knows.
void check_leaks(LiveTarget& target, const std::vector<std::string>& words) {
  std::vector<std::string> all{"leaks", "-f", "json"};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back(fmt::format("{}", target.pid()));
  const ToolRun run = run_tool(all);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.parse(run.output);
  CHECK(std::int64_t(report["objects"]) == target.greeting().at("leaked"));
  CHECK(std::int64_t(report["bytes"]) == target.greeting().at("leaked_bytes"));
  CHECK(harm_done_to(target.pid()) == "");
}

// How many objects without a type are of nearly this size.
std::int64_t objects_like(LiveTarget& target,
                          const std::vector<std::string>& words,
                          std::int64_t bytes) {
  std::vector<std::string> all{"--count", "-f", "json", fmt::format("{}", target.pid())};
  all.insert(all.end(), words.begin(), words.end());
  const ToolRun run = run_tool(all);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  std::int64_t found = 0;
  for (const simdjson::dom::element row : simdjson::dom::array(parser.parse(run.output)["types"])) {
    const std::int64_t objects = row["objects"];
    const std::int64_t each = std::int64_t(row["bytes"]) / objects;
    if (std::abs(each - bytes) <= 4096) found += objects;
  }
  return found;
}

std::string pid_of(const LiveTarget& target) {
  return fmt::format("{}", target.pid());
}

}  // namespace

TEST_CASE("what the kernel, shared memory, code or forbidden pages reference is not leaked") {
  LiveTarget target("held_elsewhere");
  for (const char* hold : {"freeze", "clone"}) {
    CAPTURE(hold);
    check_leaks(target, {"--snapshot", hold});
  }
  const ToolRun why = run_tool({"--why", "(1000 bytes)", pid_of(target)});
  CHECK_MESSAGE(why.output.find("(data of epoll)") != std::string::npos, why.output, why.errors);
}

TEST_CASE("descriptors for which there is no time are counted, and known ones are the same") {
  LiveTarget target("held_elsewhere");
  const Process process = Process::open(target.pid()).value();
  const std::vector<Descriptor> before = open_descriptors(process);
  const KeptByKernel all = read_kept_words(process, {.file_bytes = 1 << 20});
  const KeptByKernel known = read_kept_words(process, {.file_bytes = 1 << 20, .before = before});
  CHECK(all.left_out_descriptors == 0);
  REQUIRE(all.words.size() == known.words.size());
  for (std::size_t i = 0; i < all.words.size(); ++i) {
    CHECK(all.words[i].bytes == known.words[i].bytes);
  }
  const KeptByKernel late =
      read_kept_words(process, {.file_bytes = 1 << 20, .before = before, .until = {}});
  // An instance of epoll, an eventfd, the two ends of a pipe, two memfds, and what it was given.
  CHECK(late.left_out_descriptors >= 6);
  CHECK(late.words.size() < all.words.size());
}

TEST_CASE("shared memory that the page tables do not have is searched all the same") {
  LiveTarget target("held_elsewhere", {"absent"});
  for (const char* hold : {"freeze", "clone"}) {
    CAPTURE(hold);
    check_leaks(target, {"--snapshot", hold});
  }
}

TEST_CASE("a memfd is searched though a mapped file on another file system has its inode number") {
  LiveTarget target("held_elsewhere", {"twins"});
  check_leaks(target, {});
}

TEST_CASE("allocations whose memory is divided into several mappings are read whole") {
  const std::vector<std::string> all[] = {{"mapped", "huge"},   {"mapped", "undumped"},
                                          {"mapped", "locked"}, {"mapped", "readonly"},
                                          {"mapped", "code"},   {"mapped", "none"},
                                          {"mapped", "first"},  {"stacks", "65536"},
                                          {"stacks", "262144"}, {"thread"}};
  for (const std::vector<std::string>& words : all) {
    CAPTURE(fmt::format("{}", fmt::join(words, " ")));
    LiveTarget target("divided_memory", words);
    for (const char* hold : {"freeze", "clone"}) {
      CAPTURE(hold);
      check_leaks(target, {"--snapshot", hold});
      CHECK(objects_like(target, {"--snapshot", hold}, target.greeting().at("block_bytes")) ==
            target.greeting().at("blocks"));
    }
  }
}

TEST_CASE("a report on leaks says what was not searched for references") {
  LiveTarget target("held_elsewhere", {"uring", "large"});
  const ToolRun run = run_tool({"leaks", pid_of(target)});
  INFO(run.errors, run.output);
  CHECK(run.status == 0);
  CHECK(run.output.starts_with("7 objects leaked, "));
  CHECK(run.output.find("what was not searched: requests of io_uring, 16.") != std::string::npos);
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"--all", "-o", file, pid_of(target)}).status == 0);
  const ToolRun saved = run_tool({"leaks", file});
  CHECK(saved.output.find("what was not searched: requests of io_uring, 16.") != std::string::npos);
  // By default, neither the kernel nor gcore puts shared memory that has a name into a core file.
  const ToolRun gcore =
      run_in_shell("gcore -o \"$1/core\" \"$2\" </dev/null", {directory.path(), pid_of(target)});
  REQUIRE_MESSAGE(gcore.status == 0, gcore.errors);
  const ToolRun core = run_tool({"leaks", directory.file("core." + pid_of(target))});
  CHECK_MESSAGE(core.output.find(" of shared memory\n") != std::string::npos, core.output,
                core.errors);
  LiveTarget secretive("held_elsewhere", {"secret"});
  const ToolRun secret = run_tool({"leaks", pid_of(secretive)});
  INFO(secret.errors, secret.output);
  const bool says_so =
      secret.output.find("not searched: 4.0 KiB of shared memory") != std::string::npos;
  CHECK(says_so == (secretive.greeting().at("secret") == 1));
  LiveTarget submitting("held_elsewhere", {"aio"});
  const ToolRun requests = run_tool({"leaks", pid_of(submitting)});
  INFO(requests.errors, requests.output);
  CHECK(requests.output.starts_with("7 objects leaked, "));
  CHECK(requests.output.find("what was not searched: requests of io_submit") != std::string::npos);
}

TEST_CASE("references that are unaligned, tagged, or beside their allocations, are references") {
  LiveTarget target("odd_references");
  check_leaks(target, {});
}

}  // namespace heapattach
