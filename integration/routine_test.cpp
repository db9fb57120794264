// The embedded dump routine, called by the program itself and by heapattach in a clone of it.

#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "integration/cloning.h"
#include "integration/collector_dump.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// The length of the target's list, from its first object on.
long length_of_list(const Dump& dump, std::uint64_t at) {
  long length = 0;
  for (; at != 0; ++length) {
    const auto object = dump.find(at);
    REQUIRE(object != dump.end());
    const auto text = dump.find(object->second.words.at(8));
    REQUIRE(text != dump.end());
    CHECK(text->second.is_atomic);
    const auto next = object->second.words.find(0);
    const bool is_graph = object->second.words.size() < 3;
    if (is_graph && next != object->second.words.end()) CHECK(object->second.first == next->second);
    at = next == object->second.words.end() ? 0 : next->second;
  }
  return length;
}

constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;

// Each object's record in a dump, by address, and the addresses in order.
struct Records {
  std::map<std::uint64_t, std::string> by_address;
  std::vector<std::uint64_t> order;
};

Records records_of(const std::string& text, bool is_full) {
  Records records;
  std::size_t at = 8;
  const auto number = [&] {
    std::uint64_t value = 0;
    REQUIRE(at + sizeof value <= text.size());
    std::memcpy(&value, text.data() + at, sizeof value);
    at += sizeof value;
    return value;
  };
  for (;;) {
    const std::size_t start = at;
    const std::uint64_t base = number();
    if (base == kEnd) return records;
    const std::uint64_t size = number();
    if (is_full) {
      at += size & ~kAtomic;
    } else {
      static_cast<void>(number());
      while ((size & kAtomic) == 0 && number() != kEnd) static_cast<void>(number());
    }
    records.by_address[base] = text.substr(start, at - start);
    records.order.push_back(base);
  }
}

// Whether a record is of a free slot, which points to the next free slot or nowhere.
bool is_free_link(const std::string& record, const Records& others) {
  std::uint64_t next = 0;
  std::memcpy(&next, record.data() + 16, sizeof next);
  return next == 0 || others.by_address.contains(next);
}

bool is_missing() {
  if (is_target_built("dumping")) return false;
  print_skip("the collector's library is not installed");
  return true;
}

}  // namespace

TEST_CASE("a program dumps its own heap while its threads allocate") {
  if (is_missing()) return;
  const TemporaryDirectory directory;
  const std::string file = directory.file("dump");
  LiveTarget target("dumping", {"1000", "busy"});
  const auto first = static_cast<std::uint64_t>(target.greeting().at("first"));
  for (const bool is_full : {false, true}) {
    const Answer answer = target.ask((is_full ? "dump 1 " : "dump 0 ") + file);
    const Dump dump = read_dump(read_text(file), is_full);
    CHECK(static_cast<std::size_t>(answer.at("dumped")) == dump.size());
    CHECK(length_of_list(dump, first) == 1000);
    if (!is_full) check_consistent(dump);
  }
  CHECK(target.ask("dump 0 /no/such/directory/dump").at("dumped") == -2);
  CHECK(target.ask("dump 7 " + file).at("dumped") == -22);
}

TEST_CASE("heapattach makes a program dump its heap in a clone, and keeps the dump") {
  if (is_missing()) return;
  const TemporaryDirectory directory;
  const std::string file = directory.file("dump");
  LiveTarget target("dumping", {"1000"});
  const Traces before = traces_of(target.pid());
  const std::string pid = std::to_string(target.pid());
  const auto first = static_cast<std::uint64_t>(target.greeting().at("first"));
  const ToolRun run = run_tool({"--inject", "--keep", file, pid});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  const Dump dump = read_dump(read_text(file), false);
  CHECK(length_of_list(dump, first) == 1000);
  check_consistent(dump);
  const ToolRun full = run_tool(
      {"--inject", "--values", "--force", "--routine", "heapattach_dump", "--keep", file, pid});
  REQUIRE_MESSAGE(full.status == 0, full.errors);
  CHECK(length_of_list(read_dump(read_text(file), true), first) == 1000);
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(target.ask().at("length") == 1000);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("an export of a stopped process equals the routine's dump of it") {
  if (is_missing()) return;
  const TemporaryDirectory directory;
  LiveTarget target("dumping", {"1000"});
  const std::string pid = std::to_string(target.pid());
  for (const bool is_full : {false, true}) {
    const std::string ours = directory.file(is_full ? "ours.gcfull" : "ours.gcgrph");
    const std::string theirs = directory.file(is_full ? "full" : "graph");
    const ToolRun exported = run_tool({"-q", "--values", "-o", ours, pid});
    REQUIRE_MESSAGE(exported.status == 0, exported.errors);
    std::vector<std::string> keep{"-q", "--inject", "--keep", theirs, pid};
    if (is_full) keep.emplace_back("--values");
    const ToolRun kept = run_tool(keep);
    REQUIRE_MESSAGE(kept.status == 0, kept.errors);
    const Records found = records_of(read_text(ours), is_full);
    Records truth = records_of(read_text(theirs), is_full);
    CHECK(found.order.size() >= 2000);
    // The collector also lists the slots that a thread holds ready for its next objects.
    Records links;
    for (const auto& [base, record] : truth.by_address) {
      if (!found.by_address.contains(base)) links.by_address[base] = record;
    }
    for (const auto& [base, record] : links.by_address) CHECK(is_free_link(record, links));
    std::erase_if(truth.order, [&](auto base) { return links.by_address.contains(base); });
    CHECK(found.order == truth.order);
    for (const auto& [base, record] : found.by_address) {
      CHECK(record == truth.by_address[base]);
    }
    // If the dump is read and written again, the file is the same.
    const std::string again = ours + (is_full ? ".gcfull" : ".gcgrph");
    REQUIRE(run_tool({"-q", "-o", again, ours}).status == 0);
    CHECK(read_text(again) == read_text(ours));
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a routine's dump becomes a snapshot like any other") {
  if (is_missing()) return;
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl.gz");
  LiveTarget target("dumping", {"1000"});
  const std::string pid = std::to_string(target.pid());
  const ToolRun run = run_tool({"--inject", "-o", file, pid});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  const ToolRun count = run_tool({"--count", "-f", "tsv", file});
  CHECK_MESSAGE(count.status == 0, count.errors);
  std::istringstream rows(count.output);
  std::string row;
  std::getline(rows, row);
  long objects = 0;
  while (std::getline(rows, row)) objects += std::stol(row);
  CHECK(objects >= 2000);
  const ToolRun shown = run_tool({"--inject", pid});
  CHECK(shown.output.find("\"source\":\"routine\"") != std::string::npos);
  CHECK(shown.output.find("\"pid\":" + pid) != std::string::npos);
  CHECK(shown.output.find("\"refs\"") != std::string::npos);
  CHECK(target.ask().at("length") == 1000);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a program without a dump routine gets one in the clone") {
  if (is_missing()) return;
  const TemporaryDirectory directory;
  const std::string file = directory.file("dump");
  LiveTarget target("still", {"1000"});
  const std::string pid = std::to_string(target.pid());
  const Traces before = traces_of(target.pid());
  // The directory of the tests' heapattach does not contain its library.
  const ToolRun run = run_tool({"--inject", "--library", ROUTINE_LIBRARY, "--keep", file, pid});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  const Dump dump = read_dump(read_text(file), false);
  CHECK(dump.size() >= 1000);
  check_consistent(dump);
  CHECK(difference(before, traces_of(target.pid())) == "");
  // A different routine, of another library, writes its own output.
  const ToolRun other = run_tool({"--inject", "--library", target_path("heapdump"), "--routine",
                                  "heapdump_dump", "--force", "--keep", file, pid});
  CHECK_MESSAGE(other.status == 0, other.errors);
  CHECK(read_text(file).find("{\"heap_bytes\":") == 0);
  const ToolRun none =
      run_tool({"--inject", "--library", "/no/such/library", "--force", "--keep", file, pid});
  CHECK(none.status == 1);
  CHECK_MESSAGE(none.errors.find("/no/such/library") != std::string::npos, none.errors);
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(target.ask("sum").at("sum") == 499500);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a program without a dump routine is reported, and no file is left") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("dump");
  LiveTarget target("called");
  const std::string pid = std::to_string(target.pid());
  const ToolRun none = run_tool({"--inject", "--keep", file, pid});
  CHECK(none.status == 1);
  CHECK_MESSAGE(none.errors.find("heapattach_dump or heapdump_dump") != std::string::npos,
                none.errors);
  const ToolRun crashed = run_tool({"--inject", "--routine", "crash", "--keep", file, pid});
  CHECK(crashed.status == 1);
  CHECK_MESSAGE(crashed.errors.find("SIGSEGV") != std::string::npos, crashed.errors);
  const ToolRun data = run_tool({"--inject", "--routine", "no_function", "--keep", file, pid});
  CHECK(data.status == 1);
  CHECK_MESSAGE(data.errors.find("no_function") != std::string::npos, data.errors);
  CHECK_MESSAGE(data.errors.find("is not a function") != std::string::npos, data.errors);
  CHECK(directory.list().empty());
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a program with a small library of that name has it dump its heap in a clone") {
  if (!is_target_built("heapdump") || !is_target_built("still")) return;
  const TemporaryDirectory directory;
  ChildProcess service({"/usr/bin/env", "-C", directory.path(),
                        "LD_PRELOAD=" + target_path("heapdump"), target_path("still"), "1000"});
  REQUIRE(service.read_line(60s) == "ready objects=1000 mapped=0");
  const std::string pid = std::to_string(service.pid());
  // This routine writes its file itself, which must be allowed.
  const std::string dump = "heapdump_dump(\"mydump.json\")";
  const ToolRun refused = run_tool({"--call", dump, "--returns", "int", pid});
  CHECK(refused.output == "-1\n");
  CHECK_MESSAGE(refused.errors.find("--allow-calls openat") != std::string::npos, refused.errors);
  const ToolRun run = run_tool({"--call", dump, "--allow-calls", "openat", pid});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK(run.output == "1\n");
  CHECK(read_text(directory.file("mydump.json")).find("{\"heap_bytes\":") == 0);
  CHECK(children_of(service.pid()).empty());
  service.send_line("sum");
  CHECK(service.read_line(60s).value_or("").find("sum=499500 ") == 0);
}

}  // namespace heapattach
