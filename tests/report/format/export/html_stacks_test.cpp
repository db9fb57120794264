#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <simdjson.h>

#include "report/format/export/html.h"
#include "report/stacks/saved_stacks.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"

namespace heapattach {

using simdjson::dom::element;

namespace {

using snapshot::Snapshot;
using snapshot::WaitKind;

struct StacksData {
  explicit StacksData(const std::string& page) {
    const std::string_view begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = page.find(begin);
    REQUIRE(at != std::string::npos);
    const std::size_t end = page.find("</script>", at);
    text = page.substr(at + begin.size(), end - at - begin.size());
    REQUIRE(parser.parse(text).get(json) == simdjson::SUCCESS);
  }
  [[nodiscard]] static std::string text_of(element one) {
    return std::string(one.get_string().value());
  }
  [[nodiscard]] static std::uint64_t number_of(element one) { return one.get_uint64().value(); }

  std::string text;
  simdjson::dom::parser parser;
  element json;
};

// A thread in the event loop, a hundred sleeping fibers, and two fibers that wait for each other.
Snapshot crowd() {
  SnapshotBuilder build;
  Snapshot& snapshot = build.snapshot;
  build.object(0x1000, build.type("Text"), 48);
  snapshot.header.pid = 4711;
  snapshot.header.exe = "/srv/app";
  snapshot.header.runtime = "crystal";
  snapshot.header.findings = {"deadlock: <one> and two"};
  snapshot.header.remarks = {"102 of 102 fibers wait"};
  snapshot.places = {
      {.pc = 0x10,
       .at = {"sleep<T>", "/lib/crystal/kernel.cr", 66},
       .inlined = {},
       .module = "app"},
      {.pc = 0x20, .at = {"App#retry", "/src/app.cr", 17}, .inlined = {}, .module = "app"},
      {.pc = 0x30, .at = {"App#lock", "/src/app.cr", 40}, .inlined = {}, .module = "app"}};
  snapshot.stacks.resize(2);
  snapshot.stacks[0].frames = {{0, {}}, {1, {}}};
  snapshot.stacks[1].frames = {{2, {}}};
  snapshot::Thread thread;
  thread.tid = 4711;
  thread.state = 'S';
  thread.wait.call = "epoll_wait(4)";
  snapshot.threads = {thread};
  for (std::uint64_t i = 0; i < 102; ++i) {
    snapshot::Fiber fiber;
    fiber.address = 0x7000 + 0x100 * i;
    const bool is_locked = i >= 100;
    fiber.name = is_locked ? "locked" : "retry-" + std::to_string(i);
    fiber.stack = is_locked ? 1 : 0;
    fiber.wait.kind = is_locked ? WaitKind::Mutex : WaitKind::Sleep;
    if (is_locked) {
      fiber.finding = 0;
    } else {
      fiber.wait.left = std::chrono::milliseconds(100 * (i + 1));
    }
    snapshot.fibers.push_back(fiber);
  }
  return snapshot;
}

void check_crowd(const StacksData& page) {
  const element groups = page.json["groups"];
  REQUIRE(groups.get_array().value().size() == 2);
  CHECK(StacksData::number_of(page.json["fibers_in_all"]) == 102);
  CHECK(StacksData::number_of(page.json["groups_in_all"]) == 2);
  const element locked = groups.at(0);
  CHECK(StacksData::number_of(locked["fibers"]) == 2);
  CHECK(StacksData::number_of(locked["finding"]) == 0);
  const element sleeping = groups.at(1);
  CHECK(StacksData::number_of(sleeping["fibers"]) == 100);
  CHECK(StacksData::number_of(sleeping["waits"].at(0).at(0)) == 100);
  CHECK(StacksData::text_of(sleeping["waits"].at(0).at(1)) == "sleeps, 0.1 to 10.0 s left");
  CHECK(StacksData::number_of(sleeping["waits_in_all"]) == 1);
  CHECK(StacksData::text_of(sleeping["names"]) == "\"retry-0\", \"retry-1\", \"retry-2\", …");
  CHECK(sleeping["listed"].get_array().value().size() == 30);
  CHECK(StacksData::text_of(sleeping["listed"].at(0).at(1)) == "sleeps, 0.1 s left");
  const element stack = page.json["stacks"].at(StacksData::number_of(sleeping["stack"]));
  CHECK(StacksData::text_of(stack.at(0).at(0)) == "sleep<T>");
  CHECK(StacksData::text_of(stack.at(0).at(1)) == "/lib/crystal/kernel.cr:66");
  const element thread = page.json["threads"].at(0);
  CHECK(StacksData::text_of(thread["about"]) == "sleeping in epoll_wait(4)");
  CHECK(StacksData::text_of(page.json["findings"].at(0)) == "deadlock: <one> and two");
  CHECK(page.text.find('<') == std::string::npos);
}

TEST_CASE(
    "a page groups fibers by their stacks, a finding's first, with the range of their waits") {
  const Snapshot snapshot = crowd();
  MemorySink sink;
  REQUIRE(write_html(snapshot, sink, {}));
  check_crowd(StacksData(sink.text));
}

TEST_CASE("a page of stacks alone has the same groups, and no heap") {
  const stacks::StackReport report = stacks::saved_stacks(crowd());
  const StacksData page(format_stacks_html(report));
  CHECK_FALSE(page.json["has_heap"].get_bool().value());
  CHECK(StacksData::text_of(page.json["process"]["how"]).starts_with("from a snapshot of"));
  check_crowd(page);
}

TEST_CASE("a page has Ruby's frames of a thread, and its suspended fibers") {
  stacks::StackReport report;
  stacks::ThreadSeen& thread = report.threads.emplace_back();
  thread.tid = 7;
  stacks::RubySeen& ruby = thread.ruby.emplace();
  ruby.is_main = true;
  ruby.doing = "waits for Mutex 0x10";
  ruby.fibers.resize(1);
  ruby.fibers[0].frames.resize(1);
  ruby.fibers[0].frames[0].function = "handle";
  ruby.fibers[0].frames[0].file = "app.rb";
  ruby.fibers[0].frames[0].line = 42;
  ruby.suspended.resize(1);
  const StacksData page(format_stacks_html(report));
  const element part = page.json["threads"].at(0)["ruby"];
  CHECK(StacksData::text_of(part.at(0).at(0)) == "main Ruby thread waits for Mutex 0x10");
  const element frame = page.json["stacks"].at(StacksData::number_of(part.at(0).at(1))).at(0);
  CHECK(StacksData::text_of(frame.at(0)) == "handle");
  CHECK(StacksData::text_of(frame.at(1)) == "app.rb:42");
  CHECK(StacksData::text_of(part.at(1).at(0)) == "suspended fiber 0x0");
}

}  // namespace

}  // namespace heapattach
