// Ruby: dumps that it writes itself, and processes whose copy writes a dump.

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/ruby_program.h"

namespace heapattach {

using namespace std::chrono_literals;

TEST_CASE("the totals of a dump are those of Ruby's own ObjectSpace") {
  if (is_ruby_missing()) return;
  const TemporaryDirectory directory;
  const std::string dump = directory.file("dump.json");
  const RubyProgram program("ruby_arithmetic.rb", dump);
  const auto rows = rows_of(dump);
  std::map<std::string, RubyCount> kinds;
  for (const auto& [name, row] : rows) {
    const bool is_text = name == "String" || name == "internal(String)";
    const std::string kind = is_text                      ? "T_STRING"
                             : name.starts_with("imemo(") ? "T_IMEMO"
                             : name == "iclass"           ? "T_ICLASS"
                                                          : "";
    for (RubyCount* const sum : {&kinds["all"], &kinds[kind]}) {
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
    // The dump is cut in the middle of a line.
    const ToolRun cut = run_in_shell(
        "{ head -n 400 \"$1\"; tail -n +401 \"$1\" | head -c 20; } | \"$0\" --count -", {dump});
    CHECK(cut.status == 7);
    CHECK(cut.errors.find("ends early") != std::string::npos);
  }
}

TEST_CASE("a Ruby process is counted by a copy of it, whatever it does") {
  if (is_ruby_missing()) return;
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

TEST_CASE("the path to a Ruby object in a process is reported, and so is the version") {
  if (is_ruby_missing()) return;
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
  if (is_ruby_missing()) return;
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
  if (is_ruby_missing()) return;
  RubyProgram program("ruby_names.rb", "");
  const std::string pid = fmt::format("{}", program.pid());
  const ToolRun why = run_tool({"--why", "Note", "-q", pid});
  CHECK_MESSAGE(why.status == 0, why.errors);
  const std::string half =
      fmt::format("{0} of {1} through ", program.count("Row") / 2, program.count("Row"));
  const std::string path = " → ROWS → [*] → @";
  // The name in UTF-8, and the bytes of the name in EUC-JP.
  for (const std::string name : {"\u8868", "\xC9\xBD"}) {
    const std::size_t at = why.output.find(path + name + ", for instance");
    REQUIRE_MESSAGE(at != std::string::npos, why.output);
    CHECK_MESSAGE(why.output.rfind(half, at) > why.output.rfind('\n', at), why.output);
  }
}

TEST_CASE("Ruby objects are found by numbers, Symbols, members of Structs and keys of Hashes") {
  if (is_ruby_missing()) return;
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
  if (is_ruby_missing()) return;
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

TEST_CASE("objects of a Ruby process keep their names if a collection would move them") {
  if (is_ruby_missing()) return;
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
  if (is_ruby_missing()) return;
  const RubyProgram program("ruby_awkward.rb", "finalizers");
  const auto rows =
      rows_of(run_tool({"--count", "-f", "json", fmt::format("{}", program.pid())}), 0);
  CHECK(count_in(rows, "Pay") == program.count("Pay"));
}

TEST_CASE("a Ruby name with a byte that JSON forbids costs nothing but itself") {
  if (is_ruby_missing()) return;
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

TEST_CASE("root without CAP_SYS_RESOURCE counts the objects of another user's Ruby process") {
  if (is_ruby_missing()) return;
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
  if (is_ruby_missing()) return;
  constexpr const char* kJemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  if (::access(kJemalloc, R_OK) != 0) return print_skip("libjemalloc2 is not installed");
  constexpr const char* kProgram =
      "class Session; end; ALL = Array.new(500) { Session.new };"
      "puts 'ready'; $stdout.flush; $stdin.gets";
  ChildProcess ruby({"/usr/bin/env", std::string("LD_PRELOAD=") + kJemalloc, kRuby, "-e", kProgram},
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
  if (is_ruby_missing()) return;
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
  if (is_ruby_missing()) return;
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
  // Code that waits may look like a copy that waits for a lock, and is then tried again.
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

}  // namespace heapattach
