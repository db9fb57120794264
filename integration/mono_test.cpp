// Mono with the Boehm collector: objects, threads and methods have the program's names.

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/language_counts.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;

// A started bank.cs, and the methods that it says its thread "deep" is in: its class and its name.
struct Bank {
  explicit Bank(const std::vector<std::string>& arguments) : child(arguments) {
    for (;;) {
      const std::optional<std::string> line = child.read_line(seconds(120));
      REQUIRE(line);
      if (line->starts_with("ready")) break;
      const std::size_t tab = line->rfind('\t');
      if (!line->starts_with("frame\t")) continue;
      methods.emplace_back(line->substr(6, tab - 6), line->substr(tab + 1));
    }
    pid = fmt::format("{}", child.pid());
  }

  ChildProcess child;
  std::vector<std::pair<std::string, std::string>> methods;
  std::string pid;
};

// The functions on the stack of the thread with this name, the innermost first.
std::vector<std::string> functions_of(const std::string& stacks, std::string_view name) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(stacks);
  std::vector<std::string> functions;
  for (const simdjson::dom::element thread : root["threads"]) {
    std::string_view its;
    if (thread["name"].get(its) != simdjson::SUCCESS || its != name) continue;
    for (const simdjson::dom::element frame : thread["frames"]) {
      std::string_view function;
      if (frame["function"].get(function) == simdjson::SUCCESS) functions.emplace_back(function);
    }
  }
  return functions;
}

}  // namespace

TEST_CASE("a Mono program's objects are counted by their classes") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0) {
    print_skip(mono + " is not installed");
    return;
  }
  if (!is_target_built("sessions_mono")) return;
  const Release release = release_of("mono", {mono, "--version"}, {"6.8.0"});
  Maker maker({mono, target_path("sessions_mono")}, release);
  check_differences(maker, 1345,
                    {{"Shop.Session", 1},
                     {"Shop.Admin", 1},
                     {"Shop.Item", 1},
                     {"Shop.Item[]", 2},
                     {"Shop.Place[]", 1},
                     {"System.Collections.Generic.List<Shop.Item>", 2},
                     {"System.Int64", 1},
                     {"System.String", 4}});
  const Count count = maker.make(2345);
  if (release.is_tried) CHECK(count.named > 0.98);
  const std::string pid = fmt::format("{}", maker.pid());
  const ToolRun why = run_tool({"why", "Shop.Session", pid});
  CAPTURE(why.output);
  CHECK(why.output.find("(static fields of Shop.Store)") != std::string::npos);
  CHECK(why.output.find("2345 of 2345 through (static fields of Shop.Store) → All → ") !=
        std::string::npos);
  const ToolRun found = run_tool({"find", "Shop.Session[User == \"guest 7\"]", "--values", pid});
  CAPTURE(found.output);
  CHECK(found.output.find("1 of 2345 ") != std::string::npos);
  const ToolRun strings = run_tool({"strings", "--top", "1", pid});
  CAPTURE(strings.output);
  CHECK(strings.output.find(" 0 different texts") == std::string::npos);
  CHECK(maker.ends_with("4690"));
}

TEST_CASE("objects of a Mono program are found by numbers of every kind") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("orders_mono")) return;
  ChildProcess child({mono, target_path("orders_mono")});
  std::vector<std::pair<std::string, std::string>> expected;  // a condition, and how many meet it
  for (;;) {
    const std::optional<std::string> line = child.read_line(seconds(120));
    REQUIRE(line);
    if (*line == "ready") break;
    const std::size_t tab = line->find('\t');
    REQUIRE(tab != std::string::npos);
    expected.emplace_back(line->substr(0, tab), line->substr(tab + 1));
  }
  CHECK(expected.size() == 28);
  const std::string pid = fmt::format("{}", child.pid());
  const std::string saved = target_path("orders_mono") + ".jsonl";
  REQUIRE(run_tool({"--values", "-o", saved, pid}).status == 0);
  const auto find = [&](const std::string& condition, const std::string& from) {
    return run_tool({"find", condition, from});
  };
  for (const std::string& from : {pid, saved}) {
    for (const auto& one : expected) {
      const auto& condition = one.first;
      const auto& count = one.second;
      const ToolRun found = find(condition, from);
      CAPTURE(condition);
      CAPTURE(found.errors);
      CHECK(found.output.starts_with(count + " of 100 Shop.Order match"));
    }
    // Where values have names, all of them are texts.
    const ToolRun number = find("Shop.Order[State == 200]", from);
    CAPTURE(number.errors);
    CHECK(number.status != 0);
    const ToolRun refused = find("Shop.Wide[Last == 7]", from);
    CAPTURE(refused.errors);
    CHECK(refused.status != 0);
    CHECK(refused.errors.find("Last of Shop.Wide cannot be compared: its values are not known") !=
          std::string::npos);
  }
  ::unlink(saved.c_str());
}

TEST_CASE("the stack of a Mono thread has the methods that it says it is in") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("bank_mono")) return;
  const Bank bank({mono, target_path("bank_mono")});
  CHECK(bank.methods.size() > 12);
  const ToolRun run = run_tool({"stacks", "--json", bank.pid});
  CAPTURE(run.output);
  const std::vector<std::string> functions = functions_of(run.output, "deep");
  // The runtime's own methods are between them, and a generic class has its arguments.
  auto at = functions.begin();
  for (const auto& one : bank.methods) {
    const auto& type = one.first;
    const auto& method = one.second;
    CAPTURE(type);
    CAPTURE(method);
    at = std::find_if(at, functions.end(), [&](const std::string& function) {
      return function.starts_with(type) && function.ends_with("." + method);
    });
    REQUIRE(at != functions.end());
    ++at;
  }
  CHECK(run.output.find("generated code") == std::string::npos);
  CHECK(functions.back().find("clone") != std::string::npos);
}

// A method has part of its frame where it begins and where it returns.
TEST_CASE("a Mono thread that was stopped anywhere in a method has the methods that called it") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("calls_mono")) return;
  ChildProcess child({mono, target_path("calls_mono")});
  REQUIRE(child.read_line(seconds(120)) == "ready");
  const std::vector<std::string> chain{"Game.Calls.Leaf", "Game.Calls.Middle", "Game.Calls.Outer",
                                       "Game.Calls.Run"};
  std::map<std::string, int> innermost;
  for (int round = 0; round < rounds(20, 300); ++round) {
    const ToolRun run = run_tool({"stacks", "--json", fmt::format("{}", child.pid())});
    CAPTURE(run.output);
    const std::vector<std::string> functions = functions_of(run.output, "calls");
    REQUIRE_FALSE(functions.empty());
    ++innermost[functions.front()];
    const auto begin = std::find(chain.begin(), chain.end(), functions.front());
    const auto length = static_cast<std::size_t>(chain.end() - begin);
    REQUIRE(length != 0);
    REQUIRE(functions.size() > length);
    CHECK(std::equal(begin, chain.end(), functions.begin()));
    CHECK(functions[length].starts_with("System.Threading.ThreadHelper."));
    CHECK(functions.back().find("clone") != std::string::npos);
  }
  for (const auto& [function, times] : innermost) {
    print_figure(fmt::format("stopped in {}: {} times", function, times));
  }
}

TEST_CASE("two Mono threads that wait for each other's object are a deadlock") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("bank_mono")) return;
  const Bank bank({mono, target_path("bank_mono"), "deadlock"});
  // The payer has locked the first account, and waits for the second.
  const auto address_of = [&](std::string_view name) {
    const ToolRun found =
        run_tool({"find", fmt::format("Game.Account[Name == \"{}\"]", name), "--values", bank.pid});
    CAPTURE(found.output);
    const std::size_t at = found.output.find("0x");
    REQUIRE(at != std::string::npos);
    return found.output.substr(at, found.output.find(' ', at) - at);
  };
  const std::string first = address_of("first");
  const std::string second = address_of("second");
  for (const char* const report : {"stacks", "diagnose"}) {
    CAPTURE(report);
    const ToolRun run = run_tool({report, bank.pid});
    CAPTURE(run.output);
    CHECK(run.output.find("deadlock: ") != std::string::npos);
    CHECK(run.output.find("payer with a long name in Game.Bank.Transfer waits for the lock of "
                          "Game.Account " +
                          second) != std::string::npos);
    CHECK(run.output.find("receiver in Game.Bank.Transfer waits for the lock of Game.Account " +
                          first) != std::string::npos);
  }
  const Bank idle({mono, target_path("bank_mono")});
  const ToolRun none = run_tool({"stacks", idle.pid});
  CAPTURE(none.output);
  CHECK(none.output.find("deadlock") == std::string::npos);
  CHECK(none.output.find("waits for the lock") == std::string::npos);
}

TEST_CASE("a Mono program's delegates have their methods, and its classes their static fields") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("bank_mono")) return;
  const Bank bank({mono, target_path("bank_mono")});
  const Count count =
      count_of(::atoi(bank.pid.c_str()), release_of("mono", {mono, "--version"}, {"6.8.0"}));
  const auto objects = [&](const std::string& type) {
    const auto found = count.objects.find(type);
    return found == count.objects.end() ? 0 : found->second;
  };
  // One is the screen's, and one is combined with another.
  CHECK(objects("System.Action (Game.Screen.Refresh)") == 2);
  CHECK(objects("System.Action (Game.Screen.Clear)") == 1);
  CHECK(objects("System.Action (Game.Screen.Refresh and 1 more)") == 1);
  const ToolRun why = run_tool({"why", "System.Action", bank.pid});
  CAPTURE(why.output);
  CHECK(why.output.find("Changed → ") != std::string::npos);
  CHECK(why.output.find("System.Action (Game.Screen.Refresh)") != std::string::npos);
  for (const char* const name : {"Game.Cache", "Game.Limits"}) {
    const ToolRun absent = run_tool({"why", name, bank.pid});
    CAPTURE(absent.errors);
    CHECK(absent.errors.find(fmt::format("no object of type '{}' exists", name)) !=
          std::string::npos);
  }
  const ToolRun statics = run_tool({"why", "Game.Cache", bank.pid});
  CHECK(statics.errors.find("'(static fields of Game.Cache)'") != std::string::npos);
}

namespace {

// A started workers.cs, and what it says: words and their values.
struct Workers {
  explicit Workers(const std::vector<std::string>& arguments) : child(arguments) {
    for (;;) {
      const std::optional<std::string> line = child.read_line(seconds(120));
      REQUIRE(line);
      if (*line == "ready") break;
      std::vector<std::string> words;
      for (std::size_t at = 0; at <= line->size();) {
        const std::size_t end = std::min(line->find('\t', at), line->size());
        words.push_back(line->substr(at, end - at));
        at = end + 1;
      }
      said.push_back(std::move(words));
    }
    pid = fmt::format("{}", child.pid());
  }
  [[nodiscard]] std::vector<std::vector<std::string>> all(std::string_view word) const {
    std::vector<std::vector<std::string>> found;
    std::copy_if(said.begin(), said.end(), std::back_inserter(found),
                 [&](const auto& words) { return words.front() == word; });
    return found;
  }
  // The only object that meets a condition.
  [[nodiscard]] std::string address_of(const std::string& condition) const {
    const ToolRun found = run_tool({"find", condition, "--values", pid});
    CAPTURE(found.output);
    CAPTURE(found.errors);
    REQUIRE(found.output.starts_with("1 of "));
    const std::size_t at = found.output.find("0x");
    return found.output.substr(at, found.output.find(' ', at) - at);
  }

  ChildProcess child;
  std::vector<std::vector<std::string>> said;
  std::string pid;
};

}  // namespace

TEST_CASE("each Mono thread's own static fields are roots with the names of the thread and field") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("workers_mono")) return;
  const Workers workers({mono, target_path("workers_mono")});
  const auto all = workers.all("own");
  REQUIRE(all.size() == 3);
  for (const auto& own : all) {
    const std::string thread =
        own[1].empty() ? "managed thread " + own[2] : fmt::format("thread \"{}\"", own[1]);
    CAPTURE(thread);
    for (const bool is_current : {true, false}) {
      const std::string job = workers.address_of(
          fmt::format("Game.Job[Title == \"{}\"]", is_current ? own[3] : own[4]));
      const ToolRun why = run_tool({"why", job, workers.pid});
      CAPTURE(why.output);
      CHECK(why.output.find(fmt::format("(static fields of {})", thread)) != std::string::npos);
      const std::string field = is_current ? "Game.Own.Current" : "Game.Own.Wide.Last";
      CHECK(why.output.find(fmt::format("{} → {}", field, job)) != std::string::npos);
    }
  }
  const ToolRun redacted = run_tool({"count", "--redact", "full", workers.pid});
  CHECK(redacted.status == 0);
  CHECK(redacted.output.find("rker") == std::string::npos);
}

TEST_CASE("a Mono thread in Monitor.Wait waits for a pulse of its object, and holds no lock") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("workers_mono")) return;
  for (const bool has_gate : {false, true}) {
    CAPTURE(has_gate);
    std::vector<std::string> command{mono, target_path("workers_mono")};
    if (has_gate) command.emplace_back("gate");
    const Workers workers(command);
    const auto all = workers.all("waits");
    REQUIRE(all.size() == (has_gate ? 3 : 2));
    const std::string jobs =
        workers.address_of(fmt::format("Game.Queue[Name == \"{}\"]", all[0][2]));
    const std::string pulse = "a pulse of Game.Queue " + jobs;
    const ToolRun json = run_tool({"stacks", "--json", workers.pid});
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(json.output);
    for (const auto& wait : all) {
      CAPTURE(wait[1]);
      bool is_found = false;
      for (const simdjson::dom::element thread : root["threads"]) {
        std::string_view name;
        std::string_view awaited;
        if (thread["name"].get(name) != simdjson::SUCCESS || name != wait[1]) continue;
        is_found = thread["awaited"].get(awaited) == simdjson::SUCCESS && awaited == pulse;
        std::int64_t owner = 0;
        CHECK(thread["waits_for_thread"].get(owner) != simdjson::SUCCESS);
      }
      CHECK(is_found);
    }
    const std::string saved = target_path("workers_mono") + ".jsonl";
    REQUIRE(run_tool({"-o", saved, workers.pid}).status == 0);
    for (const std::string& from : {workers.pid, saved}) {
      const ToolRun stacks = run_tool({"stacks", from});
      CAPTURE(stacks.output);
      CHECK(stacks.output.find("deadlock") == std::string::npos);
      CHECK(stacks.output.find("  waits for " + pulse) != std::string::npos);
    }
    ::unlink(saved.c_str());
    const ToolRun diagnose = run_tool({"diagnose", workers.pid});
    CAPTURE(diagnose.output);
    CHECK(diagnose.output.find("deadlock") == std::string::npos);
    CHECK(diagnose.output.find(fmt::format("{} threads wait for {} (Monitor.Wait)", all.size(),
                                           pulse)) != std::string::npos);
    if (!has_gate) continue;
    CHECK(diagnose.output.find("1 thread waits for a lock that thread ") != std::string::npos);
    CHECK(diagnose.output.find(" holder in Game.Program.Hold holds, which waits for " + pulse) !=
          std::string::npos);
  }
}

namespace {

// The known waits of a process's threads, by the names of the threads.
std::map<std::string, std::string> awaited_by(const std::string& pid) {
  const ToolRun run = run_tool({"stacks", "--json", pid});
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(run.output);
  std::map<std::string, std::string> awaited;
  for (const simdjson::dom::element thread : root["threads"]) {
    std::string_view name;
    std::string_view what;
    if (thread["name"].get(name) != simdjson::SUCCESS) continue;
    if (thread["awaited"].get(what) == simdjson::SUCCESS) awaited.emplace(name, what);
  }
  return awaited;
}

}  // namespace

TEST_CASE("a Mono thread that waits in a lock of the library, or for an event, says which one") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("gates_mono")) return;
  const Workers gates({mono, target_path("gates_mono")});
  const auto all = gates.all("waits");
  REQUIRE(all.size() == 6);
  // A thread may still spin before it waits.
  std::map<std::string, std::string> awaited;
  for (int i = 0; i < 100 && awaited.size() < all.size(); ++i) awaited = awaited_by(gates.pid);
  const ToolRun text = run_tool({"stacks", gates.pid});
  CAPTURE(text.output);
  for (const auto& wait : all) {
    CAPTURE(wait[1]);
    const std::string address = gates.address_of(wait[2] + wait[3]);
    // The object itself, or a field of it.
    const std::string what = wait[4].empty()
                                 ? fmt::format("a signal of {} {}", wait[2], address)
                                 : fmt::format(" ({} of {} {})", wait[4], wait[2], address);
    CHECK(awaited[wait[1]].ends_with(what));
    CHECK(text.output.find(fmt::format("  waits for {}\n", awaited[wait[1]])) != std::string::npos);
  }
  // Idle threads wait for events, so only pulses are worth a remark.
  const std::string remarks = text.output.substr(0, text.output.find("\n\n"));
  CHECK(remarks.find("a pulse of ") != std::string::npos);
  CHECK(remarks.find("a signal of ") == std::string::npos);
}

TEST_CASE("a second domain of Mono has its own static fields, and its methods have names") {
  const std::string mono = "/usr/bin/mono-boehm";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("workers_mono")) return;
  const Workers workers({mono, target_path("workers_mono")});
  const auto domains = workers.all("domain");
  REQUIRE(domains.size() == 1);
  const Count count =
      count_of(::atoi(workers.pid.c_str()), release_of("mono", {mono, "--version"}, {"6.8.0"}));
  CHECK(count.objects.at("Game.Crate") == std::stoll(domains[0][2]));
  const ToolRun why = run_tool({"why", "Game.Crate", workers.pid});
  CAPTURE(why.output);
  CHECK(why.output.find(fmt::format("(static fields of Game.Depot in domain \"{}\")",
                                    domains[0][1])) != std::string::npos);
  CHECK(why.output.find("crates → 0x") != std::string::npos);
  const ToolRun stacks = run_tool({"stacks", "--json", workers.pid});
  CAPTURE(stacks.output);
  const auto functions = functions_of(stacks.output, "guard of the second domain");
  CHECK(std::find(functions.begin(), functions.end(), "Game.Depot.Guard") != functions.end());
  CHECK(stacks.output.find("generated code") == std::string::npos);
}

namespace {

// A program whose file is changed while it runs (edited.cs). `other` is another program, which has
// names of the same lengths at the same places.
class Edited {
 public:
  Edited() {
    copy("edited_mono", file());
    child_.emplace(std::vector<std::string>{"/usr/bin/mono-boehm", file()});
    for (;;) {
      const std::optional<std::string> line = child_->read_line(seconds(120));
      REQUIRE(line);
      if (*line == "ready") break;
      std::istringstream words(*line);
      std::string what;
      std::string name;
      std::string token;
      words >> what >> name >> token >> objects_;
      (what == "class" ? class_ : method_) = "0x" + token;
      if (what == "class") total_ = objects_;
    }
  }
  [[nodiscard]] std::string file() const { return directory_.file("edited.exe"); }
  [[nodiscard]] std::string other() const { return directory_.file("other.exe"); }
  [[nodiscard]] std::string pid() const { return fmt::format("{}", child_->pid()); }
  // Tokens stand in for the names of the class and the method.
  [[nodiscard]] std::string class_token() const { return "(type " + class_ + " of edited.exe)"; }
  [[nodiscard]] std::string method_token() const {
    return "(method " + method_ + " of edited.exe)";
  }
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t count(const std::string& type) const {
    const Counts objects = count_of(child_->pid(), release_).objects;
    const auto found = objects.find(type);
    return found == objects.end() ? 0 : found->second;
  }
  // Loads the program `other` and makes an object of it.
  void load_other() {
    copy("edited_mono_other", other());
    child_->send_line(other());
    REQUIRE(child_->read_line(seconds(120)) == "loaded");
  }
  // Writes a target's bytes to a file, which stays the same file if it exists.
  static void copy(const std::string& target, const std::string& to) {
    write_text(to, read_text(target_path(target)));
  }

 private:
  TemporaryDirectory directory_;
  Release release_ = release_of("mono", {"/usr/bin/mono-boehm", "--version"}, {"6.8.0"});
  std::optional<ChildProcess> child_;
  std::string class_;
  std::string method_;
  std::int64_t objects_ = 0;
  std::int64_t total_ = 0;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr std::string_view kLost = " was overwritten or truncated after Mono had loaded it";

}  // namespace

TEST_CASE("a Mono program's file that was changed while it ran gives its objects no names") {
  if (::access("/usr/bin/mono-boehm", X_OK) != 0 || !is_target_built("edited_mono")) return;
  for (const std::string_view way : {"overwritten", "cut to nothing", "cut to its start"}) {
    CAPTURE(way);
    const Edited edited;
    CHECK(edited.count("Depot.Pallet") == edited.total());
    if (way == "overwritten") Edited::copy("edited_mono_other", edited.file());
    if (way == "cut to nothing") REQUIRE(::truncate(edited.file().c_str(), 0) == 0);
    if (way == "cut to its start") REQUIRE(::truncate(edited.file().c_str(), 100) == 0);
    CHECK(edited.count(edited.class_token()) == edited.total());
    const std::string lost = edited.file() + std::string(kLost);
    const ToolRun why = run_tool({"why", edited.class_token(), edited.pid()});
    CAPTURE(why.output);
    CAPTURE(why.errors);
    CHECK(why.status == 0);
    CHECK(has(why.errors, lost));
    CHECK(has(why.output, "(static fields of " + edited.class_token() + ")"));
    CHECK(has(why.output, "System.Collections.Generic.List<" + edited.class_token() + ">"));
    const ToolRun stacks = run_tool({"stacks", edited.pid()});
    CAPTURE(stacks.output);
    CHECK(has(stacks.output, lost));
    CHECK(has(stacks.output, edited.method_token()));
    const ToolRun count = run_tool({"count", edited.pid()});
    for (const std::string& output : {count.output, why.output, stacks.output}) {
      for (const char* const name : {"Depot", "Pallet", "Parrot", "Mother", "Nest", "Squawk"}) {
        CHECK_FALSE(has(output, name));
      }
    }
    const ToolRun redacted = run_tool({"count", "--redact", "full", edited.pid()});
    CHECK_FALSE(has(redacted.output + redacted.errors, "edited"));
  }
}

TEST_CASE("a Mono whose library was overwritten is named in a warning") {
  const std::string library = "/usr/lib/mono/4.5/mscorlib.dll";
  if (::access("/usr/bin/mono-boehm", X_OK) != 0 || !is_target_built("edited_mono")) return;
  if (::access(library.c_str(), R_OK) != 0) return print_skip("no " + library);
  const TemporaryDirectory directory;
  write_text(directory.file("mscorlib.dll"), read_text(library));
  ChildProcess child({"/usr/bin/env", "MONO_PATH=" + directory.path(), "/usr/bin/mono-boehm",
                      target_path("edited_mono")});
  while (child.read_line(seconds(120)).value_or("ready") != "ready") {
  }
  const std::string pid = fmt::format("{}", child.pid());
  constexpr std::string_view kWarning = "warning: the classes of Mono cannot be read";
  const ToolRun whole = run_tool({"count", pid});
  CHECK(whole.status == 0);
  CHECK_FALSE(has(whole.errors, std::string(kWarning)));
  Edited::copy("edited_mono_other", directory.file("mscorlib.dll"));
  const ToolRun changed = run_tool({"count", pid});
  CAPTURE(changed.output);
  CHECK(changed.status == 7);  // some of Mono's roots are unknown
  CHECK(has(changed.errors, std::string(kWarning)));
}

TEST_CASE("a Mono program's file that has the same contents keeps its names, however new it is") {
  if (::access("/usr/bin/mono-boehm", X_OK) != 0 || !is_target_built("edited_mono")) return;
  Edited edited;
  const auto keeps_its_names = [&](const char* after) {
    CAPTURE(after);
    CHECK(edited.count("Depot.Pallet") == edited.total());
    const ToolRun stacks = run_tool({"stacks", edited.pid()});
    CAPTURE(stacks.output);
    CHECK(has(stacks.output, "Depot.Program.Linger"));
    const ToolRun count = run_tool({"count", edited.pid()});
    CAPTURE(count.errors);
    CHECK_FALSE(has(stacks.output + count.errors, "warning"));
  };
  REQUIRE(::utimensat(AT_FDCWD, edited.file().c_str(), nullptr, 0) == 0);
  keeps_its_names("touch");
  REQUIRE(::chmod(edited.file().c_str(), 0600) == 0);
  keeps_its_names("chmod");
  Edited::copy("edited_mono", edited.file());
  keeps_its_names("the same contents were written again");
  edited.load_other();
  keeps_its_names("a file that is newer than the process was loaded");
  CHECK(edited.count("Depot.Parrot") == 1);
  REQUIRE(::rename(edited.other().c_str(), edited.file().c_str()) == 0);
  keeps_its_names("another file took its name");
  CHECK(edited.count("Depot.Parrot") == 1);
  REQUIRE(::unlink(edited.file().c_str()) == 0);
  keeps_its_names("it was removed");
}

TEST_CASE("Mono with sgen has no objects in malloc's heap, and is named as what keeps them") {
  const std::string mono = "/usr/bin/mono-sgen";
  if (::access(mono.c_str(), X_OK) != 0 || !is_target_built("sessions_mono")) return;
  Maker maker({mono, target_path("sessions_mono")},
              release_of("mono", {mono, "--version"}, {"6.8.0"}));
  const Count count = maker.make(500);
  for (const auto& row : count.objects) {
    const std::string& name = row.first;
    CAPTURE(name);
    CHECK_FALSE(name.starts_with("System."));
    CHECK_FALSE(name.starts_with("Shop."));
  }
  const ToolRun summary = run_tool({"summary", fmt::format("{}", maker.pid())});
  CAPTURE(summary.output);
  CHECK((summary.output + summary.errors).find("Mono with sgen keeps") != std::string::npos);
  CHECK(maker.ends_with("1000"));
}

}  // namespace heapattach
