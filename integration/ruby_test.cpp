// Ruby: dumps that it writes itself, and processes that run it.

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/other_releases.h"
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

// The installed release.
Release installed() {
  return release_of("Ruby", {kRuby, "-v"}, {"3.1.2", "3.1.7", "3.3.8", "3.3.14"});
}

// Whether the installed release was not tried, and is refused for a report that reads the heap from
// outside.
bool is_refused_outside(pid_t pid, bool with_references) {
  const Release release = installed();
  if (release.is_tried) return false;
  return is_refused(release, run_tool({with_references ? "--suspects" : "--count", "--snapshot",
                                       "freeze", fmt::format("{}", pid)}));
}

// Its source, beside this file.
std::string script(const std::string& name) {
  const std::string here = __FILE__;
  return here.substr(0, here.rfind('/')) + "/targets/" + name;
}

// A Ruby program, once it has printed "ready" and its counts.
class RubyProgram {
 public:
  RubyProgram(const std::string& name, const std::string& argument)
      : child_({kRuby, script(name), argument}, {.capture_stderr = false}) {
    const auto line = child_.read_line(60s);
    REQUIRE(line);
    REQUIRE(line->starts_with("ready "));
    std::size_t at = 6;
    while (at < line->size()) {
      const std::size_t end = std::min(line->find(' ', at), line->size());
      const std::size_t sign = line->rfind('=', end);
      counts_[line->substr(at, sign - at)] = std::stoll(line->substr(sign + 1, end - sign - 1));
      at = end + 1;
    }
  }

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] std::int64_t count(const std::string& name) const { return counts_.at(name); }
  ChildProcess& child() { return child_; }
  // How often its work went round.
  std::int64_t rounds_done() {
    child_.send_line("");
    const auto line = child_.read_line(60s);
    REQUIRE(line);
    return std::stoll(line->substr(line->find('=') + 1));
  }

 private:
  ChildProcess child_;
  Answer counts_;
};

struct Row {
  std::int64_t objects = 0;
  std::int64_t bytes = 0;
};

// The rows of --count, by type.
std::map<std::string, Row> rows_of(const ToolRun& run, int status) {
  REQUIRE_MESSAGE(run.status == status, run.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::object report = parser.parse(run.output);
  std::map<std::string, Row> rows;
  for (const simdjson::dom::object row : simdjson::dom::array(report["types"])) {
    rows[std::string(std::string_view(row["type"]))] = {row["objects"], row["bytes"]};
  }
  return rows;
}

ToolRun count_run(const std::string& source, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--count", "-f", "json", source});
  return run_tool(more);
}

std::map<std::string, Row> rows_of(const std::string& source) {
  return rows_of(count_run(source), 0);
}

// A class without a name counts as "unnamed".
std::int64_t count_in(const std::map<std::string, Row>& rows, const std::string& type) {
  if (type != "unnamed") return rows.contains(type) ? rows.at(type).objects : 0;
  std::int64_t most = 0;
  for (const auto& [name, row] : rows) {
    if (name.starts_with("#<Class:")) most = std::max(most, row.objects);
  }
  return most;
}

}  // namespace

TEST_CASE("the totals of a dump are those of Ruby's own ObjectSpace") {
  if (is_missing()) return;
  const TemporaryDirectory directory;
  const std::string dump = directory.file("dump.json");
  const RubyProgram program("ruby_arithmetic.rb", dump);
  const auto rows = rows_of(dump);
  std::map<std::string, Row> kinds;
  for (const auto& [name, row] : rows) {
    const bool is_text = name == "String" || name == "internal(String)";
    const std::string kind = is_text                      ? "T_STRING"
                             : name.starts_with("imemo(") ? "T_IMEMO"
                             : name == "iclass"           ? "T_ICLASS"
                                                          : "";
    for (Row* const sum : {&kinds["all"], &kinds[kind]}) {
      sum->objects += row.objects;
      sum->bytes += row.bytes;
    }
  }
  CHECK(kinds["all"].objects == program.count("in_use"));
  CHECK(kinds["all"].bytes == program.count("TOTAL.bytes"));
  for (const std::string kind : {"T_STRING", "T_IMEMO", "T_ICLASS"}) {
    CHECK_MESSAGE(kinds[kind].objects == program.count(kind), kind);
    CHECK_MESSAGE(kinds[kind].bytes == program.count(kind + ".bytes"), kind);
  }
  CHECK(rows.at("Session").objects == program.count("Session"));

  SUBCASE("packed, and from a pipe") {
    const ToolRun plain = run_tool({"--count", dump});
    const ToolRun packed = run_in_shell("gzip -c \"$1\" | \"$0\" --count -", {dump});
    CHECK(packed.status == 0);
    CHECK(packed.output == plain.output);
  }
  SUBCASE("cut off") {
    // In the middle of a line.
    const ToolRun cut = run_in_shell(
        "{ head -n 400 \"$1\"; tail -n +401 \"$1\" | head -c 20; } | \"$0\" --count -", {dump});
    CHECK(cut.status == 7);
    CHECK(cut.errors.find("ends early") != std::string::npos);
  }
}

TEST_CASE("a Ruby process is counted by a copy of it, whatever it does") {
  if (is_missing()) return;
  std::vector<std::string> states{"sleep", "busy",   "busy_thread", "io",
                                  "mutex", "server", "allocating",  "extension"};
  if (is_long_run()) states.emplace_back("webrick");
  for (const std::string& state : states) {
    CAPTURE(state);
    RubyProgram program("ruby_states.rb", state);
    for (int round = 0; round < rounds(1, 100); ++round) {
      const auto rows = rows_of(fmt::format("{}", program.pid()));
      for (const std::string type : {"Session", "Cart", "Pair", "unnamed"}) {
        CHECK_MESSAGE(count_in(rows, type) == program.count(type), type);
      }
    }
    CHECK(harm_done_to(program.pid()) == "");
    if (state != "busy" && state != "busy_thread" && state != "extension") {
      static_cast<void>(program.rounds_done());
    }
  }
}

TEST_CASE("a Ruby process that has freed nearly all its objects is read, with its frames") {
  if (is_missing()) return;
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

TEST_CASE("the path to a Ruby object in a process is reported, and so is the version") {
  if (is_missing()) return;
  RubyProgram program("ruby_states.rb", "sleep");
  const std::string pid = fmt::format("{}", program.pid());
  const ToolRun why = run_tool({"--why", "Pair", pid});
  CHECK_MESSAGE(why.status == 0, why.errors);
  CHECK(why.output.find("global vm") != std::string::npos);
  CHECK(why.output.find("Array") != std::string::npos);
  const ToolRun steps = run_tool({"-v", "--count", pid});
  CHECK_MESSAGE(steps.errors.find("after GC.start, a copy of the process") != std::string::npos,
                steps.errors);
  const ToolRun summary = run_tool({"summary", pid});
  CHECK_MESSAGE(summary.status == 0, summary.errors);
  CHECK(summary.output.find("total (resident: RSS)") != std::string::npos);
  CHECK(summary.output.find("live objects, with their buffers") != std::string::npos);
  CHECK(summary.errors.find("0 threads") == std::string::npos);
  const TemporaryDirectory directory;
  const std::string saved = directory.file("ruby.jsonl");
  REQUIRE(run_tool({"-o", saved, pid}).status == 0);
  CHECK(read_text(saved).find("\"runtime\":\"ruby\"") != std::string::npos);
  CHECK(count_in(rows_of(saved), "Pair") == program.count("Pair"));
  static_cast<void>(program.rounds_done());
}

TEST_CASE("a leak in a Ruby process is the first suspect, with its path in Ruby's words") {
  if (is_missing()) return;
  ChildProcess ruby({kRuby, "-e",
                     "module Blog; class Session; def initialize(n); @user = 'user' * 20; end; end;"
                     "class Metrics; def initialize; "
                     "@history = Array.new(20_000) { |n| Session.new(n) }; end; end;"
                     "METRICS = Metrics.new; end; puts 'ready'; $stdout.flush; $stdin.gets"});
  REQUIRE(ruby.read_line(60s) == "ready");
  const ToolRun run = run_tool({"--suspects", fmt::format("{}", ruby.pid())});
  CHECK_MESSAGE(run.status == 0, run.errors);
  const std::string first = run.output.substr(0, run.output.find("\n2. "));
  std::size_t at = 0;
  for (const std::string part : {"Blog → ", "METRICS → ", " Blog::Metrics\n", "@history → ",
                                 "20000 objects", "Blog::Session"}) {
    at = first.find(part, at);
    CHECK_MESSAGE(at != std::string::npos, part, " is not in ", first);
  }
}

TEST_CASE("variables whose names have different encodings are named, and no scheduler is asked") {
  if (is_missing()) return;
  RubyProgram program("ruby_names.rb", "");
  const std::string pid = fmt::format("{}", program.pid());
  const ToolRun why = run_tool({"--why", "Note", "-q", pid});
  CHECK_MESSAGE(why.status == 0, why.errors);
  const std::string half =
      fmt::format("{0} of {1} through ", program.count("Row") / 2, program.count("Row"));
  const std::string path = " → ROWS → [*] → @";
  // In UTF-8, and the bytes of EUC-JP.
  for (const std::string name : {"\u8868", "\xC9\xBD"}) {
    const std::size_t at = why.output.find(path + name + ", for instance");
    REQUIRE_MESSAGE(at != std::string::npos, why.output);
    CHECK_MESSAGE(why.output.rfind(half, at) > why.output.rfind('\n', at), why.output);
  }
}

TEST_CASE("Ruby objects are found by numbers, Symbols, members of Structs and keys of Hashes") {
  if (is_missing()) return;
  ChildProcess ruby(
      {kRuby, "-e",
       "Point = Struct.new(:left, :rank);"
       "class Order; def initialize(n); @id, @open, @state, @opts, @point = n, n < 10, "
       ":new, {user: \"u#{n}\", 3 => n}, Point.new(\"l#{n}\", n * 1.5); end; end;"
       "ALL = Array.new(100) { |n| Order.new(n) }; puts 'ready'; $stdout.flush; "
       "$stdin.gets; puts ALL.size; $stdout.flush"});
  REQUIRE(ruby.read_line(60s) == "ready");
  const std::string pid = fmt::format("{}", ruby.pid());
  const ToolRun both =
      run_tool({"--find", R"(Order[@id >= 3 and @opts[:user] == "u7" or @point.rank == 13.5])",
                "--values", "-q", pid});
  CHECK_MESSAGE(both.status == 0, both.errors);
  CHECK_MESSAGE(both.output.starts_with("2 of 100 Order match"), both.output);
  const ToolRun state =
      run_tool({"--find", R"(Order[@state == "new" and @open == true and @opts[3] > 4])",
                "--values", "-q", pid});
  CHECK_MESSAGE(state.output.starts_with("5 of 100 Order match"), state.output, state.errors);
  const ToolRun none = run_tool({"--find", "Order[@no == 1]", "--values", "-q", pid});
  CHECK(none.status == 1);
  CHECK_MESSAGE(
      none.errors.find("no Order has a field @no; it has @id, @open, @opts, @point, @state") !=
          std::string::npos,
      none.errors);
  CHECK(harm_done_to(ruby.pid()) == "");
  ruby.send_line("");
  CHECK(ruby.read_line(60s) == "100");
}

TEST_CASE("values that Ruby's dump does not have are compared, too") {
  if (is_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "values");
  const auto found = [&](const std::string& condition) {
    const ToolRun run = run_tool({"--find", fmt::format("Pay[{}]", condition), "--values",
                                  fmt::format("{}", program.pid())});
    REQUIRE_MESSAGE(run.status == 0, run.errors);
    return std::stoi(run.output);
  };
  constexpr const char* kLiteral = "\"https://api.example.com/v1/payments\"";
  CHECK(found(fmt::format("@value == {}", kLiteral)) == 10);  // half of them share their bytes
  CHECK(found(fmt::format("@value != {}", kLiteral)) == program.count("Pay") - 10);
  CHECK(found("@value == nil") == 1);
  CHECK(found("@value == \"größe\"") == 2);
  CHECK(found("@value == \"in progress\"") == 2);
  CHECK(found("@value == \"<\"") == 1);
  CHECK(found("@value > 5") == 2);
  CHECK(found("@value ~ \"fix z*\"") == 1);
  CHECK(harm_done_to(program.pid()) == "");
}

TEST_CASE(
    "a Ruby thread that holds a lock, and waits for the end of one that wants it, is a deadlock") {
  if (is_missing()) return;
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
  if (is_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "sweeping");
  if (is_refused_outside(program.pid(), true)) return;
  REQUIRE(program.count("sweeping") == 1);
  const auto rows = rows_of(
      run_tool({"leaks", "--heap", "both", "-f", "json", fmt::format("{}", program.pid())}), 0);
  CHECK(count_in(rows, "(1016 bytes)") == 0);
  CHECK(count_in(rows, "(text of String)") == 0);
  CHECK(harm_done_to(program.pid()) == "");
}

TEST_CASE("objects of a Ruby process keep their names if a collection would move them") {
  if (is_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "compacting");
  const std::string pid = fmt::format("{}", program.pid());
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-o", file, "--values", pid}).status == 0);
  const auto found = [&](const std::string& expression) {
    return std::stoi(run_tool({"--find", expression, file}).output);
  };
  CHECK(found("Alpha[@number >= 0 && @first_text ~ \"a*\"]") == program.count("Alpha"));
  CHECK(found("Beta[@number <= 0 && @second_text ~ \"b*\"]") == program.count("Beta"));
}

TEST_CASE("what finalizers of a Ruby process make in its copy is not counted") {
  if (is_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "finalizers");
  const auto rows =
      rows_of(run_tool({"--count", "-f", "json", fmt::format("{}", program.pid())}), 0);
  CHECK(count_in(rows, "Pay") == program.count("Pay"));
}

TEST_CASE("a Ruby name with a byte that JSON forbids costs nothing but itself") {
  if (is_missing()) return;
  SUBCASE("of a variable") {
    const RubyProgram program("ruby_awkward.rb", "names");
    const ToolRun why = run_tool({"--graph", "Pay", fmt::format("{}", program.pid())});
    CHECK(why.status == 0);
    CHECK_MESSAGE(why.output.find("PAYS") != std::string::npos, why.output, why.errors);
  }
  SUBCASE("of a class, which Ruby's own dump has") {
    const RubyProgram program("ruby_awkward.rb", "class");
    if (is_refused_outside(program.pid(), true)) return;
    const ToolRun count = run_tool({"--count", "-f", "json", fmt::format("{}", program.pid())});
    CHECK(count_in(rows_of(count, 7), "Pay") == program.count("Pay"));
  }
}

TEST_CASE("the heap of a Ruby process that hangs in a collection is read from outside") {
  if (is_missing()) return;
  for (const bool hangs : {false, true}) {
    CAPTURE(hangs);
    const RubyProgram program("ruby_outside.rb", hangs ? "hangs" : "sleeps");
    const std::string pid = fmt::format("{}", program.pid());
    const auto is_in_pause = [&] {
      return read_text("/proc/" + pid + "/syscall").starts_with(fmt::format("{} ", SYS_pause));
    };
    if (hangs) REQUIRE(eventually(60s, is_in_pause));
    if (is_refused_outside(program.pid(), false)) continue;
    // No copy of one that hangs can run Ruby code: it is read from outside at the end of the time.
    const ToolRun run =
        hangs ? count_run(pid, {"--timeout", "4"}) : count_run(pid, {"--snapshot", "freeze"});
    const auto rows = rows_of(run, 7);
    // If the buffers of a release's objects have no known size, the message says so.
    const bool is_sized = run.errors.find("objects lack variables") == std::string::npos;
    const Release release = installed();
    CHECK((is_sized || !release.is_tried));
    Row all;
    for (const auto& [name, row] : rows) all.objects += row.objects;
    for (const std::string type : {"Session", "Large", "Text", "List", "Table", "Pair", "Wide",
                                   "Blog::Entry", "Rational", "Complex"}) {
      const Row row = rows.contains(type) ? rows.at(type) : Row();
      CHECK_MESSAGE(row.objects == program.count(type), type);
      const std::int64_t bytes = program.count(type + ".bytes");
      const bool may_lack = type == "Large" && !is_sized;
      CHECK_MESSAGE((row.bytes == bytes || (may_lack && row.bytes < bytes)), type);
    }
    CHECK(count_in(rows, "unnamed") == program.count("unnamed"));
    CHECK(rows.at("iclass").objects == program.count("T_ICLASS"));
    if (!hangs) {  // besides the text that was printed
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

// The objects that an object references, by address.
using References = std::map<std::string, std::set<std::string>>;

// The references in a dump by Ruby itself, without the kinds that are known only in part
// (structures of C code, and code) and without the class, which a dump leaves out.
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
    if (type == "NONE" || (type == "DATA" && detail != "proc") || (has_detail && detail == "iseq"))
      continue;
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
  if (is_missing()) return;
  const TemporaryDirectory directory;
  const std::string dump = directory.file("dump.json");
  const std::string read = directory.file("read.jsonl");
  ChildProcess ruby({kRuby, script("ruby_edges.rb"), dump}, {.capture_stderr = false});
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
    if (at == found.end()) continue;  // a text that the dump needed
    ++compared;
    // The word that other objects use for the class is in at most one of the two.
    std::vector<std::string> unlike;
    std::set_symmetric_difference(at->second.begin(), at->second.end(), expected.begin(),
                                  expected.end(), std::back_inserter(unlike));
    // What was made since is no difference. Nor is a method entry that marks itself: Ruby 3.1 does
    // that to keep it in its place, if calls without optional arguments have an entry of their own.
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
  if (is_missing()) return;
  const TemporaryDirectory directory;
  ChildProcess ruby({kRuby, script("ruby_edges.rb"), directory.file("dump.json"), "hangs"},
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
  // Nothing in it moves: the tool does not try copies until its time ends.
  CHECK(took < 40s);
  const std::string first = run.output.substr(0, run.output.find("\n2. "));
  std::size_t at = 0;
  for (const std::string part : {"METRICS", "@history", "Blog::Session"}) {
    at = first.find(part, at);
    CHECK_MESSAGE(at != std::string::npos, part, " is not in ", run.output);
  }
}

TEST_CASE("whatever holds the leak of a Ruby process that hangs, it is the first suspect") {
  if (is_missing()) return;
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
    ChildProcess ruby({kRuby, script("ruby_leaks.rb"), kind}, {.capture_stderr = false});
    REQUIRE(ruby.read_line(60s) == "ready");
    const std::string pid = fmt::format("{}", ruby.pid());
    REQUIRE(eventually(60s, [&] {
      return read_text("/proc/" + pid + "/syscall").starts_with(fmt::format("{} ", SYS_pause));
    }));
    if (is_refused_outside(ruby.pid(), true)) return;
    // It takes a moment to see that nothing moves, so only one program above shows it.
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
  if (is_missing()) return;
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
  // One copy shows it: no other is made.
  CHECK(run.errors.find("times)") == std::string::npos);
  const ToolRun texts = run_tool({"--strings", pid});
  CHECK(texts.status != 0);
  CHECK(texts.errors.find("Ruby lacks its objspace library") != std::string::npos);
  CHECK(harm_done_to(ruby.pid()) == "");
}

TEST_CASE("root without CAP_SYS_RESOURCE counts the objects of another user's Ruby process") {
  if (is_missing()) return;
  if (::geteuid() != 0) {
    print_skip("only root may give up a right of root's");
    return;
  }
  constexpr uid_t kNobody = 65534;
  ChildProcess ruby({kRuby, "-e",
                     "class Session; end; ALL = Array.new(500) { Session.new };"
                     "puts 'ready'; $stdout.flush; $stdin.gets"},
                    {.uid = kNobody, .capture_stderr = false});
  REQUIRE(ruby.read_line(60s) == "ready");
  const ToolRun run = run_in_shell(R"(setpriv --bounding-set=-sys_resource "$0" "$@")",
                                   {"--count", "-f", "json", fmt::format("{}", ruby.pid())});
  CHECK(count_in(rows_of(run, 0), "Session") == 500);
  CHECK(harm_done_to(ruby.pid()) == "");
}

TEST_CASE("of a Ruby process with jemalloc, Ruby's heap is read, and malloc's is refused by name") {
  if (is_missing()) return;
  constexpr const char* kJemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  if (::access(kJemalloc, R_OK) != 0) return print_skip("libjemalloc2 is not installed");
  ChildProcess ruby({"/usr/bin/env", std::string("LD_PRELOAD=") + kJemalloc, kRuby, "-e",
                     "class Session; end; ALL = Array.new(500) { Session.new };"
                     "puts 'ready'; $stdout.flush; $stdin.gets"},
                    {.capture_stderr = false});
  REQUIRE(ruby.read_line(60s) == "ready");
  const std::string pid = fmt::format("{}", ruby.pid());
  CHECK(count_in(rows_of(pid), "Session") == 500);
  CHECK(count_in(rows_of(count_run(pid, {"--heap", "ruby"}), 0), "Session") == 500);
  CHECK(run_tool({"--check", pid}).status == 0);
  for (const std::string heap : {"both", "malloc"}) {
    for (const std::string report : {"--count", "--check"}) {
      const ToolRun run = run_tool({report, "--heap", heap, pid});
      CHECK_MESSAGE(run.status == 5, report, heap, run.output, run.errors);
      CHECK((run.output + run.errors).find("jemalloc (libjemalloc.so.2)") != std::string::npos);
    }
  }
  CHECK(harm_done_to(ruby.pid()) == "");
}

TEST_CASE("an option that Ruby's heap cannot follow is refused") {
  if (is_missing()) return;
  const RubyProgram program("ruby_states.rb", "sleep");
  const std::string pid = fmt::format("{}", program.pid());
  const ToolRun running = run_tool({"--count", "--snapshot", "read", pid});
  CHECK(running.status == 5);
  CHECK_MESSAGE(running.errors.find("cannot be read while the process runs") != std::string::npos,
                running.errors);
  const ToolRun collector = run_tool({"--count", "--heap", "gc", pid});
  CHECK(collector.status == 5);
  CHECK_MESSAGE(collector.output.find("Session") == std::string::npos, collector.output);
}

TEST_CASE("Ruby code is evaluated in a copy: its value, what it wrote, or its exception") {
  if (is_missing()) return;
  for (const std::string state : {"sleep", "busy"}) {
    CAPTURE(state);
    const RubyProgram program("ruby_states.rb", state);
    const std::string pid = fmt::format("{}", program.pid());
    const ToolRun good = run_tool({"--ruby", "puts 'é'; SESSIONS.clear; [PAIRS.size, 'a']", pid});
    CHECK(good.status == 0);
    CHECK(good.output == "é\n[300, \"a\"]\n");
    const ToolRun bad = run_tool({"--ruby", "SESSIONS.first.no_such", pid});
    CHECK(bad.status == 1);
    CHECK(bad.errors.find("NoMethodError") != std::string::npos);
    CHECK(bad.errors.find("--ruby:1") != std::string::npos);
    const ToolRun again = run_tool({"--ruby", "SESSIONS.size", pid});
    CHECK(again.output == "1000\n");
    CHECK(harm_done_to(program.pid()) == "");
  }
  const RubyProgram program("ruby_states.rb", "sleep");
  const ToolRun endless =
      run_tool({"--ruby", "sleep", "--timeout", "3", fmt::format("{}", program.pid())});
  CHECK(endless.status == 6);
  // Code that waits in a copy may look like a copy that waits for a lock, and is tried again then.
  const bool is_told =
      endless.errors.find("the code did not return in time") != std::string::npos ||
      endless.errors.find("did not finish in") != std::string::npos;
  CHECK_MESSAGE(is_told, endless.errors);
  CHECK(endless.errors.find("--timeout") != std::string::npos);
  CHECK(endless.errors.find("lock") == std::string::npos);
  const ToolRun ended = run_tool({"--ruby", "exit!(3)", fmt::format("{}", program.pid())});
  CHECK(ended.status == 1);
  CHECK_MESSAGE(ended.errors.find("the code ended its process with exit(3)") != std::string::npos,
                ended.errors);
  const ToolRun looping =
      run_tool({"--ruby", "loop {}", "--timeout", "3", fmt::format("{}", program.pid())});
  CHECK(looping.status == 6);
  CHECK_MESSAGE(looping.errors.find("the code did not return in time") != std::string::npos,
                looping.errors);
  const ToolRun other = run_tool({"--ruby", "1", fmt::format("{}", ::getpid())});
  CHECK(other.status != 0);
  CHECK(other.errors.find("does not run Ruby") != std::string::npos);
}

TEST_CASE("Ruby's heap and malloc's are read together: what C code lost, and what Ruby will free") {
  if (is_missing()) return;
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
    // A few may still be referenced by old words on the stack.
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
      // Memory that Ruby took without clearing it may have an old word with the address of one.
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
