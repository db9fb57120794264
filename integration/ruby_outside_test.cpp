// Ruby processes are read from outside: no code runs in them for that.

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/syscall.h>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/ruby_program.h"

namespace heapattach {

using namespace std::chrono_literals;

TEST_CASE("a Ruby process that has freed nearly all its objects is read, with its frames") {
  if (is_ruby_missing()) return;
  RubyProgram program("ruby_states.rb", "emptied");
  const std::string pid = fmt::format("{}", program.pid());
  const auto rows = rows_of(count_run(pid, {"--snapshot", "freeze"}), 7);
  for (const std::string type : {"Session", "Cart", "Pair", "unnamed"}) {
    CHECK_MESSAGE(count_in(rows, type) == program.count(type), type);
  }
  const ToolRun stacks = run_tool({"--stacks", pid});
  CHECK_MESSAGE(stacks.status == 0, stacks.errors);
  CHECK_MESSAGE(stacks.output.find("in work\n") != std::string::npos, stacks.output);
}

TEST_CASE(
    "a Ruby thread that holds a lock, and waits for the end of one that wants it, is a deadlock") {
  if (is_ruby_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "joins");
  if (is_refused_outside(program.pid(), false)) return;
  const ToolRun run = run_tool({"diagnose", fmt::format("{}", program.pid())});
  INFO(run.output, run.errors);
  CHECK(run.output.starts_with("deadlock: "));
  CHECK(run.output.find(" waits for the end of thread ") != std::string::npos);
  CHECK(run.output.find(", which thread ") != std::string::npos);
  CHECK(harm_done_to(program.pid()) == "");
}

TEST_CASE("garbage that Ruby has not cleared yet is not leaked") {
  if (is_ruby_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "sweeping");
  if (is_refused_outside(program.pid(), true)) return;
  REQUIRE(program.count("sweeping") == 1);
  const auto rows = rows_of(
      run_tool({"leaks", "--heap", "both", "-f", "json", fmt::format("{}", program.pid())}), 0);
  CHECK(count_in(rows, "(1016 bytes)") == 0);
  CHECK(count_in(rows, "(text of String)") == 0);
  CHECK(harm_done_to(program.pid()) == "");
}

TEST_CASE("the heap of a Ruby process that hangs in a collection is read from outside") {
  if (is_ruby_missing()) return;
  for (const bool hangs : {false, true}) {
    CAPTURE(hangs);
    const RubyProgram program("ruby_outside.rb", hangs ? "hangs" : "sleeps");
    const std::string pid = fmt::format("{}", program.pid());
    const auto is_in_pause = [&] {
      return read_text("/proc/" + pid + "/syscall").starts_with(fmt::format("{} ", SYS_pause));
    };
    if (hangs) REQUIRE(eventually(60s, is_in_pause));
    if (is_refused_outside(program.pid(), false)) continue;
    // No copy of a process that hangs can run Ruby code. When its time is over, it is read from
    // outside.
    const ToolRun run =
        hangs ? count_run(pid, {"--timeout", "4"}) : count_run(pid, {"--snapshot", "freeze"});
    const auto rows = rows_of(run, 7);
    // If the sizes of buffers are unknown in this release, the message says so.
    const bool is_sized = run.errors.find("objects lack variables") == std::string::npos;
    const Release release = installed_ruby();
    CHECK((is_sized || !release.is_tried));
    RubyCount all;
    for (const auto& [name, row] : rows) all.objects += row.objects;
    for (const std::string type : {"Session", "Large", "Text", "List", "Table", "Pair", "Wide",
                                   "Blog::Entry", "Rational", "Complex"}) {
      const RubyCount row = rows.contains(type) ? rows.at(type) : RubyCount();
      CHECK_MESSAGE(row.objects == program.count(type), type);
      const std::int64_t bytes = program.count(type + ".bytes");
      const bool may_lack = type == "Large" && !is_sized;
      CHECK_MESSAGE((row.bytes == bytes || (may_lack && row.bytes < bytes)), type);
    }
    CHECK(count_in(rows, "unnamed") == program.count("unnamed"));
    CHECK(rows.at("iclass").objects == program.count("T_ICLASS"));
    if (!hangs) {  // the text that was printed is an object, too
      CHECK(all.objects >= program.count("in_use"));
      CHECK(all.objects <= program.count("in_use") + 200);
    }
    CHECK(harm_done_to(program.pid()) == "");
    const ToolRun texts = run_tool({"--strings", "--timeout", "2", "--snapshot", "freeze", pid});
    CHECK(texts.status == 5);
    CHECK(texts.errors.find("no values") != std::string::npos);
    const ToolRun check = run_tool({"--check", pid});
    CHECK(check.status == 0);
    CHECK(check.output.find("ruby        " + release.number + " in ") != std::string::npos);
    CHECK(check.output.find("nothing prevents a snapshot") != std::string::npos);
  }
}

namespace {

// For each object, the objects that it references, by address.
using References = std::map<std::string, std::set<std::string>>;

// The references in a dump of Ruby itself. Leaves out objects whose references are known only in
// part (structures of C code, and code), and references to classes, which a dump does not have.
References marked_by_ruby(const std::string& dump, std::set<std::string>& all) {
  References found;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines = parser.load_many(dump);
  for (const auto line : lines) {
    simdjson::dom::object record;
    std::string_view address;
    if (line.get(record) != simdjson::SUCCESS) continue;
    if (record["address"].get(address) != simdjson::SUCCESS) continue;
    all.emplace(address);
    const std::string_view type = record["type"];
    std::string_view detail;
    const bool has_detail = record["struct"].get(detail) == simdjson::SUCCESS ||
                            record["imemo_type"].get(detail) == simdjson::SUCCESS;
    if (type == "NONE" || (type == "DATA" && detail != "proc")) continue;
    if (has_detail && detail == "iseq") continue;
    auto& to = found[std::string(address)];
    simdjson::dom::array references;
    if (record["references"].get(references) == simdjson::SUCCESS) {
      for (const std::string_view one : references) to.emplace(one);
    }
    std::string_view of_class;
    if (record["class"].get(of_class) == simdjson::SUCCESS) to.emplace(of_class);
  }
  return found;
}

References of_snapshot(const std::string& file) {
  References found;
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines = parser.load_many(file);
  for (const auto line : lines) {
    simdjson::dom::object record;
    if (line.get(record) != simdjson::SUCCESS) continue;
    if (std::string_view(record["record"]) != "object") continue;
    auto& to = found[std::string(std::string_view(record["address"]))];
    simdjson::dom::object references;
    if (record["refs"].get(references) != simdjson::SUCCESS) continue;
    for (const auto one : references) to.emplace(std::string_view(one.value));
  }
  return found;
}

}  // namespace

TEST_CASE("what Ruby's objects reference is read from outside as Ruby itself marks it") {
  if (is_ruby_missing()) return;
  const TemporaryDirectory directory;
  const std::string dump = directory.file("dump.json");
  const std::string read = directory.file("read.jsonl");
  ChildProcess ruby({kRuby, ruby_script("ruby_edges.rb"), dump}, {.capture_stderr = false});
  REQUIRE(ruby.read_line(60s) == "ready");
  if (is_refused_outside(ruby.pid(), true)) return;
  const ToolRun run = run_tool({"--snapshot", "freeze", "-o", read, fmt::format("{}", ruby.pid())});
  CHECK(run.status == 7);
  CHECK(run.errors.find("known only in part") != std::string::npos);
  std::set<std::string> all;
  const References marked = marked_by_ruby(dump, all);
  const References found = of_snapshot(read);
  std::size_t different = 0;
  std::size_t compared = 0;
  for (const auto& [address, expected] : marked) {
    const auto at = found.find(address);
    if (at == found.end()) continue;  // a text that the dump itself has made
    ++compared;
    // One of the two may have a reference from the word that holds the class in other objects.
    std::vector<std::string> unlike;
    std::set_symmetric_difference(at->second.begin(), at->second.end(), expected.begin(),
                                  expected.end(), std::back_inserter(unlike));
    // Objects that were made since do not count as a difference. Nor does a method entry that marks
    // itself: Ruby 3.1 does that to keep the entry in its place, if calls without optional
    // arguments have an entry of their own.
    std::erase_if(unlike, [&](const std::string& one) {
      return !found.contains(one) || !all.contains(one) || one == at->first;
    });
    if (unlike.size() > 1 && ++different < 10) MESSAGE(address);
  }
  CHECK(compared > 20'000);
  CHECK(compared * 100 > marked.size() * 99);
  MESSAGE(fmt::format("figure: references of {} Ruby objects compared, {} differ", compared,
                      different));
  CHECK(different == 0);
  CHECK(harm_done_to(ruby.pid()) == "");
}

TEST_CASE("the leak of a Ruby process that hangs is the first suspect") {
  if (is_ruby_missing()) return;
  const TemporaryDirectory directory;
  ChildProcess ruby({kRuby, ruby_script("ruby_edges.rb"), directory.file("dump.json"), "hangs"},
                    {.capture_stderr = false});
  REQUIRE(ruby.read_line(60s) == "ready");
  const std::string pid = fmt::format("{}", ruby.pid());
  const auto is_in_pause = [&] {
    return read_text("/proc/" + pid + "/syscall").starts_with(fmt::format("{} ", SYS_pause));
  };
  REQUIRE(eventually(60s, is_in_pause));
  if (is_refused_outside(ruby.pid(), true)) return;
  const auto begin = std::chrono::steady_clock::now();
  const ToolRun run = run_tool({"--suspects", pid});
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK_MESSAGE(run.status == 7, run.errors);
  // Nothing in the process moves, so the tool does not try copies until its time is over.
  CHECK(took < 40s);
  const std::string first = run.output.substr(0, run.output.find("\n2. "));
  std::size_t at = 0;
  for (const std::string part : {"METRICS", "@history", "Blog::Session"}) {
    at = first.find(part, at);
    CHECK_MESSAGE(at != std::string::npos, part, " is not in ", run.output);
  }
}

TEST_CASE("whatever holds the leak of a Ruby process that hangs, it is the first suspect") {
  if (is_ruby_missing()) return;
  const std::map<std::string, std::vector<std::string>> paths{
      {"global", {"global $history", "Array"}},
      {"closure", {"AFTER → ", " Proc", "environment → ", "sessions → ", "Array"}},
      {"class", {"@entries → ", "Hash"}},
      {"thread_variable", {"locals → ", "Hash", "Array"}},
      {"thread_local", {"[:seen] → ", "Array"}},
      {"finalizer", {"global finalizers", " Proc", "environment → ", "held → ", "Array"}}};
  for (const auto& path : paths) {
    const std::string& kind = path.first;
    CAPTURE(kind);
    ChildProcess ruby({kRuby, ruby_script("ruby_leaks.rb"), kind}, {.capture_stderr = false});
    REQUIRE(ruby.read_line(60s) == "ready");
    const std::string pid = fmt::format("{}", ruby.pid());
    REQUIRE(eventually(60s, [&] {
      return read_text("/proc/" + pid + "/syscall").starts_with(fmt::format("{} ", SYS_pause));
    }));
    if (is_refused_outside(ruby.pid(), true)) return;
    // Seeing that nothing moves takes a moment, so only one program above is tested for it.
    std::vector<std::string> arguments{"--suspects", pid};
    if (!is_long_run()) arguments.insert(arguments.begin(), {"--snapshot", "freeze"});
    const ToolRun run = run_tool(arguments);
    CHECK_MESSAGE(run.status == 7, run.errors);
    const std::string first = run.output.substr(0, run.output.find("\n2. "));
    CHECK_MESSAGE(first.find("Blog::Session") != std::string::npos, first);
    std::size_t at = 0;
    for (const std::string& part : path.second) {
      at = first.find(part, at);
      CHECK_MESSAGE(at != std::string::npos, part, " is not in ", first);
    }
    CHECK(harm_done_to(ruby.pid()) == "");
  }
}

TEST_CASE("a Ruby process without its objspace library is read from outside, and that is said") {
  if (is_ruby_missing()) return;
  ChildProcess ruby({kRuby, "-e",
                     "class Session; end; ALL = Array.new(500) { Session.new }; $LOAD_PATH.clear;"
                     "puts 'ready'; $stdout.flush; $stdin.gets"},
                    {.capture_stderr = false});
  REQUIRE(ruby.read_line(60s) == "ready");
  if (is_refused_outside(ruby.pid(), false)) return;
  const std::string pid = fmt::format("{}", ruby.pid());
  const ToolRun run = run_tool({"--count", "-v", pid});
  CHECK(run.status == 7);
  CHECK_MESSAGE(run.output.find(" 500 ") < run.output.find(" Session\n"), run.output);
  for (const std::string part :
       {"read from outside, so not collected first", "Ruby lacks its objspace library: cannot load",
        "the heap is read from outside instead"}) {
    CHECK_MESSAGE(run.errors.find(part) != std::string::npos, part, " is not in ", run.errors);
  }
  // The first copy shows the problem, so no other copy is made.
  CHECK(run.errors.find("times)") == std::string::npos);
  const ToolRun texts = run_tool({"--strings", pid});
  CHECK(texts.status != 0);
  CHECK(texts.errors.find("Ruby lacks its objspace library") != std::string::npos);
  CHECK(harm_done_to(ruby.pid()) == "");
}

TEST_CASE("Ruby's heap and malloc's are read together: what C code lost, and what Ruby will free") {
  if (is_ruby_missing()) return;
  const RubyProgram program("ruby_both.rb", "");
  const std::string pid = fmt::format("{}", program.pid());
  if (is_refused_outside(program.pid(), true)) return;
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--heap", "both", "-q", pid});
    return run_tool(arguments);
  };

  SUBCASE("objects") {
    const ToolRun count = run({"--count", "-f", "json"});
    const auto rows = rows_of(count, 0);
    INFO(count.output);
    CHECK(count_in(rows, "Session") == program.count("Session"));
    CHECK(count_in(rows, "Wide") == program.count("Wide"));
    CHECK(count_in(rows, "(variables of Wide)") == program.count("Wide"));
    CHECK(count_in(rows, "(text of String)") >= program.count("Session"));
    // Old words on the stack may still reference a few objects.
    CHECK(count_in(rows, "Dropped") < program.count("Dropped") / 4);
    simdjson::dom::parser parser;
    const simdjson::dom::element report = parser.parse(count.output);
    CHECK(std::string_view(report["heaps"].at(0)["heap"]) == "ruby");
    CHECK(std::int64_t(report["heaps"].at(0)["heap_bytes"]) ==
          program.count("pages") * program.count("page_bytes"));
    CHECK(std::string_view(report["heaps"].at(1)["heap"]) == "malloc");
    const ToolRun all = run({"--count", "--all", "-f", "json"});
    REQUIRE(all.status == 0);
    std::int64_t dropped = 0;
    const simdjson::dom::element with_garbage = parser.parse(all.output);
    for (const simdjson::dom::element row : simdjson::dom::array(with_garbage["types"])) {
      if (std::string_view(row["type"]) == "Dropped") dropped += std::int64_t(row["objects"]);
    }
    CHECK(dropped == program.count("Dropped"));
  }
  SUBCASE("leaks") {
    const TemporaryDirectory directory;
    const std::string file = directory.file("both.jsonl");
    REQUIRE(run({"--all", "-o", file}).status == 0);
    CHECK(read_text(file).find("\"@part9\":") != std::string::npos);
    for (const ToolRun& leaks :
         {run({"leaks", "-f", "json"}), run({"leaks", "-f", "json", "--snapshot", "clone"}),
          run_tool({"leaks", "-f", "json", file})}) {
      const auto rows = rows_of(leaks, 0);
      INFO(leaks.output);
      // Memory that Ruby has taken without clearing it may contain the address of one of them.
      CHECK(count_in(rows, "(1512 bytes)") <= program.count("lost"));
      CHECK(count_in(rows, "(1512 bytes)") >= program.count("lost") - 4);
      CHECK(count_in(rows, "(4504 bytes)") == 1);
      CHECK_FALSE(rows.contains("(2504 bytes)"));  // Ruby's objects reference them
      CHECK_FALSE(rows.contains("(3512 bytes)"));  // Ruby will free them
    }
  }
  SUBCASE("paths and memory") {
    const ToolRun why = run({"--why", "Wide"});
    INFO(why.output, why.errors);
    CHECK(why.status == 0);
    CHECK(why.output.find("(elements of Array)") != std::string::npos);
    const ToolRun summary = run({"summary"});
    INFO(summary.output, summary.errors);
    CHECK(summary.status == 0);
    for (const char* words :
         {"Ruby's heap: blocks in use", "malloc's heap\n", "of Ruby's heap", "free slots",
          "of malloc's heap", "leaked: nothing reachable references it"}) {
      CHECK_MESSAGE(summary.output.find(words) != std::string::npos, words);
    }
    CHECK(run({"--strings"}).errors.find("no texts and values") != std::string::npos);
    CHECK(run({"--count", "--by", "line"}).status == 2);
    CHECK(count_in(rows_of(run_tool({"--count", "--heap", "ruby", "-f", "json", pid}), 0),
                   "Wide") == program.count("Wide"));
  }
  CHECK(harm_done_to(program.pid()) == "");
}

}  // namespace heapattach
