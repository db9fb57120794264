// Ruby programs that do unusual things: the reports agree with what the programs print.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

using namespace std::chrono_literals;

constexpr const char* kRuby = "/usr/bin/ruby";

bool is_missing() {
  if (::access(kRuby, X_OK) == 0) return false;
  print_skip("ruby is not installed");
  return true;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A run of targets/ruby_odd.rb, which has printed "ready" and the truth.
class OddRuby {
 public:
  explicit OddRuby(const std::string& argument)
      : child_({kRuby, script(), argument}, {.capture_stderr = false}) {
    const auto line = child_.read_line(60s);
    REQUIRE(line);
    REQUIRE(line->starts_with("ready "));
    std::size_t at = 6;
    while (at < line->size()) {
      const std::size_t end = std::min(line->find(' ', at), line->size());
      const std::size_t sign = line->rfind('=', end);
      truth_[line->substr(at, sign - at)] = line->substr(sign + 1, end - sign - 1);
      at = end + 1;
    }
  }
  ~OddRuby() { CHECK(harm_done_to(child_.pid()) == ""); }
  OddRuby(const OddRuby&) = delete;
  OddRuby& operator=(const OddRuby&) = delete;

  [[nodiscard]] std::string pid() const { return fmt::format("{}", child_.pid()); }
  [[nodiscard]] const std::string& word(const std::string& name) const { return truth_.at(name); }
  [[nodiscard]] int count(const std::string& name) const { return std::stoi(word(name)); }

 private:
  static std::string script() {
    const std::string here = __FILE__;
    return here.substr(0, here.rfind('/')) + "/targets/ruby_odd.rb";
  }

  ChildProcess child_;
  std::map<std::string, std::string> truth_;
};

// The number of objects that match, which is the report's first word.
int found(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--find");
  const ToolRun run = run_tool(arguments);
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  return std::stoi(run.output);
}

const std::vector<std::string> kLabelled{"MyList", "MyTable", "MyText",
                                         "MyPair", "MyPlain", "MyRange"};

}  // namespace

TEST_CASE("variables of Ruby's Arrays, Hashes, Strings and Structs are read") {
  if (is_missing()) return;
  const OddRuby program("labelled");
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-o", file, "--values", program.pid()}).status == 0);
  for (const std::string& type : kLabelled) {
    CAPTURE(type);
    CHECK(found({type + "[@label == \"label 3\"]", file}) == program.count(type + ".label"));
    CHECK(found({type + "[@count > 20]", file}) == program.count(type + ".count"));
    CHECK(found({type + "[@note.@number > 30]", file}) == program.count(type + ".note"));
    CHECK(found({type + "[@state == \"not even\"]", file}) == program.count(type + ".odd"));
  }
  CHECK(found({"MyPair[left.@number == -1 and right == 2]", file}) == program.count("MyPair"));
  // There are as many references as elements, but one is a variable's.
  CHECK(found({"MyList[references[*].@number == -1]", file}) == program.count("MyList"));
}

TEST_CASE("variables of Ruby's Arrays, Hashes, Strings and Structs are named without values") {
  if (is_missing()) return;
  const OddRuby program("labelled");
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{}, std::vector<std::string>{"--snapshot", "freeze"}}) {
    std::vector<std::string> arguments{"--why", "Note", "--paths", "20", "-q", program.pid()};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const ToolRun why = run_tool(arguments);
    INFO(why.output, why.errors);
    for (const std::string& type : kLabelled) {
      CHECK_MESSAGE(has(why.output, " " + type + "\n      @note → "), type);
    }
  }
}

TEST_CASE("--find says that a snapshot of Ruby was saved without values") {
  if (is_missing()) return;
  const OddRuby program("labelled");
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-o", file, program.pid()}).status == 0);
  for (const char* condition :
       {"MyPlain[@count > 20]", "MyPlain[@label == \"label 3\"]", "MyPlain[@count]",
        "MyPlain[@count != nil]", "MyList[@state == nil]"}) {
    const ToolRun run = run_tool({"--find", condition, file});
    INFO(condition, run.output, run.errors);
    CHECK(run.status == 1);
    CHECK(has(run.errors, "was taken without values; take it again with --values"));
    CHECK_FALSE(has(run.errors, "has a field"));
  }
  CHECK(found({"MyPlain[@note]", file}) == program.count("MyPlain"));
}

TEST_CASE("--find takes Symbols of Ruby, plain and in quotes, and no String for one") {
  if (is_missing()) return;
  const OddRuby program("labelled");
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-o", file, "--values", program.pid()}).status == 0);
  for (const std::string& type : kLabelled) {
    CAPTURE(type);
    CHECK(found({type + "[@state == :even]", file}) == program.count(type + ".even"));
    CHECK(found({type + "[@state == :\"not even\"]", file}) == program.count(type + ".odd"));
    CHECK(found({type + "[@state != :'not even']", file}) == program.count(type + ".even"));
    CHECK(found({type + "[@label == :\"label 3\"]", file}) == 0);
  }
  CHECK(run_tool({"--find", "MyList[@state == :]", file}).status == 2);
}

TEST_CASE("a class of Ruby without objects is known") {
  if (is_missing()) return;
  const OddRuby program("labelled");
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(program.word("Unused") == "0");
  REQUIRE(run_tool({"-o", file, program.pid()}).status == 0);
  for (const std::string report : {"--find", "--why", "--graph"}) {
    for (const std::string& source : {file, program.pid()}) {
      const ToolRun run = run_tool({report, "Unused", source});
      INFO(report, run.output, run.errors);
      CHECK(run.status == 1);
      CHECK(has(run.errors, "no object of type 'Unused' exists at the moment"));
    }
  }
  CHECK(has(run_tool({"--why", "Unuzed", file}).errors, "no type is called 'Unuzed'"));
}

TEST_CASE("methods of the core that a Ruby program has redefined change nothing") {
  if (is_missing()) return;
  for (const std::string how : {"redefined", "prepended"}) {
    CAPTURE(how);
    const OddRuby program(how);
    const TemporaryDirectory directory;
    const std::string file = directory.file("heap.jsonl");
    const ToolRun saved = run_tool({"-o", file, "--values", program.pid()});
    REQUIRE_MESSAGE(saved.status == 0, saved.errors);
    for (const std::string& type : kLabelled) {
      CAPTURE(type);
      CHECK(found({type + "[@label == \"label 3\"]", file}) == program.count(type + ".label"));
      CHECK(found({type + "[@count > 20]", file}) == program.count(type + ".count"));
      CHECK(found({type + "[@note.@number > 30]", file}) == program.count(type + ".note"));
      CHECK(found({type + "[@state == :even]", file}) == program.count(type + ".even"));
    }
    CHECK(found({"MyPair[right == 2 and left.@number == -1]", file}) == program.count("MyPair"));
    CHECK(found({"MyTable[[:key].@number == -1]", file}) == program.count("MyTable"));
    CHECK(has(run_tool({"--why", "MyList", "-q", file}).output, " KEPT → "));
    CHECK(has(run_tool({"--why", "Note", "--paths", "30", "-q", file}).output, " CONSTANT → "));
  }
}

TEST_CASE("a Ruby thread that sleeps in C code with Ruby's lock is named, and those that want it") {
  if (is_missing()) return;
  const OddRuby program("keeps_lock");
  // The other threads notice it only when they wake, within milliseconds.
  std::string stacks;
  const std::string wanted =
      fmt::format("waits for Ruby's lock, which thread {} ruby has, in ", program.word("holder"));
  for (int i = 0; i < 100 && !has(stacks, "\"wants1\" " + wanted); ++i) {
    stacks = run_tool({"--stacks", program.pid()}).output;
  }
  INFO(stacks);
  CHECK(has(stacks, "Ruby thread \"wants0\" " + wanted + "clock_nanosleep("));
  CHECK(has(stacks, "Ruby thread \"wants1\" " + wanted + "clock_nanosleep("));
  const ToolRun run = run_tool({"diagnose", program.pid()});
  INFO(run.output, run.errors);
  CHECK(has(run.output, "2 threads wait for Ruby's lock, which thread " + program.word("holder")));
  CHECK(has(run.output, "(ruby_odd.rb:"));
  CHECK(has(run.output, " keeps, in clock_nanosleep("));
}

TEST_CASE("a Ruby Mutex that a suspended fiber holds is the fiber's and its thread's") {
  if (is_missing()) return;
  const OddRuby program("fiber_lock");
  const std::string stacks = run_tool({"--stacks", program.pid()}).output;
  INFO(stacks);
  const std::string owner = fmt::format(" of thread {} owner", program.word("owner"));
  CHECK(has(stacks, ", which fiber 0x"));
  CHECK(has(stacks, " (suspended in block in holding (ruby_odd.rb:"));
  CHECK(has(stacks, owner + " holds\n"));
  const ToolRun run = run_tool({"diagnose", program.pid()});
  INFO(run.output, run.errors);
  CHECK(has(run.output, "1 thread waits for a lock that fiber 0x"));
  CHECK(has(run.output, owner));
}

TEST_CASE("threads that wait for Mutexes of two fibers of one thread are counted apart") {
  if (is_missing()) return;
  const OddRuby program("two_locks");
  const ToolRun run = run_tool({"diagnose", program.pid()});
  INFO(run.output, run.errors);
  const std::string owner = fmt::format("thread {} owner", program.word("owner"));
  CHECK(has(run.output, "2 threads wait for a lock that fiber 0x"));
  CHECK(has(run.output, " of " + owner));
  CHECK(has(run.output, "1 thread waits for a lock that " + owner));
}

TEST_CASE("Ruby threads wait for the lock of their own ractor") {
  if (is_missing()) return;
  const OddRuby program("two_ractors");
  const auto waiting = [&](std::string_view who, const std::string& holder) {
    return fmt::format("{} for Ruby's lock, which thread {} ", who, program.word(holder));
  };
  // They notice only when they wake, which is within milliseconds.
  ToolRun run;
  for (int i = 0; i < 100; ++i) {
    run = run_tool({"diagnose", program.pid()});
    if (has(run.output, waiting("2 threads wait", "first")) &&
        has(run.output, waiting("1 thread waits", "other"))) {
      break;
    }
  }
  INFO(run.output, run.errors);
  CHECK(has(run.output, waiting("2 threads wait", "first")));
  CHECK(has(run.output, waiting("1 thread waits", "other")));
  CHECK(!has(run.output, "3 threads wait"));
}

TEST_CASE("a list shows the title that a process gave itself") {
  if (is_missing()) return;
  const OddRuby program("titled");
  const std::string title = "shop: worker 3 [xxxxxxxxxxxxxxxxxxxx]";
  const ToolRun table = run_tool({"list", "--top", "100000"});
  CHECK_MESSAGE(has(table.output, title + "\n"), table.output);
  const ToolRun json = run_tool({"list", "--top", "100000", "-f", "json"});
  CHECK_MESSAGE(has(json.output, fmt::format("\"title\":\"{}\"", title)), json.output);
  const OddRuby untitled("labelled");
  const std::string name = fmt::format("\"pid\":{},\"name\":\"ruby\"", untitled.pid());
  const ToolRun others = run_tool({"list", "--top", "100000", "-f", "json"});
  CHECK_MESSAGE(has(others.output, name), others.output);
  CHECK(!has(others.output, name + ",\"title\""));
}

}  // namespace heapattach
