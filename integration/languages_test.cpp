// Programs in other languages: their objects are counted exactly, by the languages' own type names.

#include <algorithm>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/collector_dump.h"
#include "integration/live_target.h"
#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;
using Counts = std::map<std::string, std::int64_t>;

struct Count {
  Counts objects;
  double named = 0;  // share of the bytes
};

// The count of a release that was not tried may be partial.
Count count_of(pid_t pid, const Release& release) {
  const ToolRun run = run_tool({"--count", "-f", "json", fmt::format("{}", pid)});
  INFO(run.errors);
  REQUIRE((run.status == 0 || (!release.is_tried && run.status == 7)));
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(run.output);
  Count count;
  double all = 0;
  double unknown = 0;
  for (const simdjson::dom::element row : root["types"]) {
    const std::string name{std::string_view{row["type"]}};
    const auto bytes = static_cast<double>(std::int64_t{row["bytes"]});
    count.objects[name] += std::int64_t{row["objects"]};
    all += bytes;
    if (name.starts_with("(unknown")) unknown += bytes;
  }
  count.named = 1 - unknown / all;
  return count;
}

// A program that reads a number, makes that many objects of each kind in place of the earlier ones,
// prints "made", and so on; at 0 it prints how many it has.
class Maker {
 public:
  Maker(const std::vector<std::string>& arguments, Release release)
      : release_(std::move(release)), child_(arguments) {}

  [[nodiscard]] const Release& release() const { return release_; }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }

  Count make(int number) {
    child_.send_line(fmt::format("{}", number));
    REQUIRE(read_until("made"));
    return count_of(child_.pid(), release_);
  }
  bool ends_with(const std::string& result) {
    child_.send_line("0");
    return read_until(result);
  }

 private:
  bool read_until(const std::string& wanted) {
    for (;;) {
      const std::optional<std::string> line = child_.read_line(seconds(120));
      if (!line || *line == wanted) return line.has_value();
    }
  }

  Release release_;
  ChildProcess child_;
};

// A release that was not tried may represent values in another way: then no object has a name.
bool has_no_names(const Maker& maker, const Count& count, const Counts& each) {
  const bool has_any = std::any_of(each.begin(), each.end(), [&](const auto& expected) {
    return count.objects.contains(expected.first);
  });
  if (maker.release().is_tried || has_any) return false;
  print_untried(maker.release(), "its objects have no names");
  return true;
}

// Words left on a stack may keep objects of the round before, for the collector as for us, and the
// language makes a few of its own, but not the same number in every round. Programs with lists take
// apart what they drop, so that such a word keeps one object and never a list. None may be missing
// in any round.
void check_differences(Maker& maker, int more, Counts each) {
  constexpr int kRounds = 40;
  constexpr int kFew = 500;
  for (int round = 0; round < kRounds && !each.empty(); ++round) {
    maker.make(kFew);
    Count few = maker.make(kFew);
    Count many = maker.make(kFew + more);
    if (round == 0 && has_no_names(maker, many, each)) return;
    CHECK(few.named >= 0.9);
    CHECK(many.named >= 0.9);
    std::erase_if(each, [&](const auto& expected) {
      const auto& [name, number] = expected;
      CHECK(few.objects[name] >= kFew * number);
      CHECK(many.objects[name] >= (kFew + more) * number);
      const std::int64_t difference = many.objects[name] - few.objects[name];
      if (difference != more * number) MESSAGE(name << ": " << difference << " more");
      return difference == more * number;
    });
  }
  CHECK(each.empty());
}

void check_guile(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0) {
    print_skip(program + " is not installed");
    return;
  }
  const Release release = release_of("guile", {program, "--version"}, {"3.0.8", "2.2.7"});
  const std::string code = R"scheme(
(begin
 (use-modules (srfi srfi-9) (rnrs bytevectors))
 (define-record-type <session> (make-session id user) session? (id session-id) (user user-of))
 (define kept '())
 (define all #f)
 (define (many n how)
   (let ((v (make-vector n 0)))
     (do ((i 0 (+ i 1))) ((= i n) v) (vector-set! v i (how i)))))
 (define (forget)
   (do () ((null? kept))
     (let ((rest (cdr kept))) (set-cdr! kept '()) (set! kept rest)))
   (if all (do ((i 0 (+ i 1))) ((= i 5)) (vector-fill! (vector-ref all i) 0)))
   (set! all #f))
 (define (make-all n)
   (forget)
   (set! kept (iota n))
   (set! all (vector (many n (lambda (i) (make-vector 7 i)))
                     (many n (lambda (i) (make-session i (make-string 5 #\a))))
                     (many n (lambda (i) (make-bytevector 100 7)))
                     (many n (lambda (i) (+ i 0.5)))
                     (many n (lambda (i) (expt 7 (+ 60 (modulo i 10))))))))
 (define (stop) (gc) (gc) (display "made") (newline) (force-output))
 (let loop ((n (read)))
   (if (> n 0)
       (begin (make-all n) (stop) (loop (read)))
       (begin (display (length kept)) (newline)))))
)scheme";
  Maker maker({program, "--no-auto-compile", "-c", code}, release);
  check_differences(maker, 1345,
                    {{"pair", 1},
                     {"vector", 1},
                     {"<session>", 1},
                     {"string", 1},
                     {"stringbuf", 1},
                     {"bytevector", 1},
                     {"flonum", 1},
                     {"bignum", 1}});
  maker.make(2345);
  // Small numbers are in the words of records, and are not read.
  const ToolRun found =
      run_tool({"find", "<session>[id > 3]", "--values", fmt::format("{}", maker.pid())});
  CAPTURE(found.errors);
  CHECK(found.status != 0);
  if (release.is_tried) CHECK(found.errors.find("values are not known") != std::string::npos);
  CHECK(maker.ends_with("2345"));
}

}  // namespace

TEST_CASE("a Guile program's objects are counted by its type names") {
  check_guile("/usr/bin/guile-3.0");
  if (is_long_run()) check_guile("/usr/bin/guile-2.2");
}

TEST_CASE("a Guile program that marks from malloc's memory itself has an incomplete heap") {
  const std::string program = "/usr/bin/guile-3.0";
  if (::access(program.c_str(), X_OK) != 0) {
    print_skip(program + " is not installed");
    return;
  }
  const std::string code = R"scheme(
(begin
 (use-modules (system foreign))
 (define (c name result . arguments)
   (pointer->procedure result (dynamic-func name (dynamic-link)) arguments))
 (define name (string->pointer "grob"))
 (define type ((c "scm_make_smob_type" unsigned-long '* size_t) name 0))
 (define data ((c "malloc" '* size_t) 64))
 (define grob (pointer->scm ((c "scm_new_smob" '* unsigned-long '*) type data)))
 (define (stop) (gc) (display "made") (newline) (force-output) (read-line))
 (use-modules (ice-9 rdelim))
 (stop)
 ((c "scm_set_smob_mark" void unsigned-long '*) type (dynamic-func "scm_not" (dynamic-link)))
 (stop)
 (write (list name grob)))
)scheme";
  ChildProcess child({program, "--no-auto-compile", "-c", code});
  for (const bool marks : {false, true}) {
    CAPTURE(marks);
    REQUIRE(child.read_line(seconds(120)) == "made");
    const ToolRun run = run_tool({"count", fmt::format("{}", child.pid())});
    CAPTURE(run.errors);
    CHECK(run.status == (marks ? 7 : 0));
    CHECK(marks == (run.errors.find("itself marks what its grob objects") != std::string::npos));
    child.send_line("");
  }
}

TEST_CASE("an ECL program's objects are counted by its type names") {
  const std::string ecl = "/usr/bin/ecl";
  if (::access(ecl.c_str(), X_OK) != 0) {
    print_skip(ecl + " is not installed");
    return;
  }
  const Release release = release_of("ecl", {ecl, "--version"}, {"21.2.1"});
  const std::string code = R"lisp(
(progn
 (defstruct session id user)
 (defclass account () ((number :initarg :number) (owner :initarg :owner)))
 (defvar *kept* nil)
 (defvar *all* nil)
 (defun many (n how)
   (let ((a (make-array n))) (dotimes (i n a) (setf (aref a i) (funcall how i)))))
 (defun forget ()
   (loop while *kept* do (let ((rest (cdr *kept*))) (setf (cdr *kept*) nil) (setf *kept* rest)))
   (loop for made across *all* do (fill made nil))
   (setf *all* nil))
 (defun make-all (n)
   (forget)
   (setf *kept* (make-list n :initial-element 7))
   (setf *all* (vector (many n (lambda (i) (make-array 7 :initial-element i)))
                       (many n (lambda (i) (make-session :id i :user i)))
                       (many n (lambda (i) (make-instance 'account :number i :owner i)))
                       (many n (lambda (i) (* 1.5d0 (+ i 0.25d0))))
                       (many n (lambda (i) (make-string 40 :initial-element #\a)))
                       (many n (lambda (i) (expt 7 (+ 60 (mod i 10))))))))
 (defun stop () (si:gc t) (si:gc t) (format t "~%made~%") (finish-output))
 (loop for n = (read) while (> n 0) do (make-all n) (stop))
 (format t "~%~a~%" (length *kept*))
 (finish-output)
 (quit))
)lisp";
  Maker maker({ecl, "--norc", "--eval", code}, release);
  check_differences(maker, 1345,
                    {{"cons", 1},
                     {"vector", 1},
                     {"(elements of vector)", 1},
                     {"SESSION", 1},
                     {"(slots of SESSION)", 1},
                     {"ACCOUNT", 1},
                     {"double-float", 1},
                     {"string", 1},
                     {"bignum", 1}});
  maker.make(2345);
  CHECK(maker.ends_with("2345"));
}

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
  CHECK(why.output.find("All → ") != std::string::npos);
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
  CHECK(expected.size() == 20);
  const std::string pid = fmt::format("{}", child.pid());
  const std::string saved = target_path("orders_mono") + ".jsonl";
  REQUIRE(run_tool({"--values", "-o", saved, pid}).status == 0);
  const auto find = [&](const std::string& condition, const std::string& from) {
    return run_tool(from == pid ? std::vector<std::string>{"find", condition, "--values", from}
                                : std::vector<std::string>{"find", condition, from});
  };
  for (const std::string& from : {pid, saved}) {
    for (const auto& [condition, count] : expected) {
      const ToolRun found = find(condition, from);
      CAPTURE(condition);
      CAPTURE(found.errors);
      CHECK(found.output.starts_with(count + " of 100 Shop.Order match"));
    }
    const ToolRun refused = find("Shop.Wide[Last == 7]", from);
    CAPTURE(refused.errors);
    CHECK(refused.status != 0);
    CHECK(refused.errors.find("Last of Shop.Wide cannot be compared: its values are not known") !=
          std::string::npos);
  }
  ::unlink(saved.c_str());
}

namespace {

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
  for (const auto& [type, method] : bank.methods) {
    CAPTURE(type);
    CAPTURE(method);
    at = std::find_if(at, functions.end(), [&, type = type, method = method](const auto& function) {
      return function.starts_with(type) && function.ends_with("." + method);
    });
    REQUIRE(at != functions.end());
    ++at;
  }
  CHECK(run.output.find("generated code") == std::string::npos);
  CHECK(functions.back().find("clone") != std::string::npos);
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

// The objects and their references, compared with those that the collector lists in a copy of the
// process. It also lists what a thread keeps ready, which nothing references.
void compare_with_collector(pid_t pid) {
  const TemporaryDirectory directory;
  const auto dump = [&](std::vector<std::string> words, const std::string& name) {
    words.insert(words.end(), {directory.file(name), fmt::format("{}", pid)});
    const ToolRun run = run_tool(words);
    CAPTURE(run.errors);
    REQUIRE(run.status == 0);
    return read_dump(read_text(directory.file(name)), false);
  };
  const Dump seen = dump({"--snapshot", "freeze", "-f", "gcgrph", "-o"}, "seen");
  const Dump listed = dump({"--inject", "--library", ROUTINE_LIBRARY, "--keep"}, "listed");
  std::size_t different = 0;
  for (const auto& [base, object] : seen) {
    const auto found = listed.find(base);
    const bool is_same = found != listed.end() && found->second.bytes == object.bytes &&
                         found->second.is_atomic == object.is_atomic &&
                         found->second.words == object.words;
    if (!is_same) ++different;
  }
  CHECK(seen.size() > 40000);
  CHECK(different == 0);
  std::size_t referenced = 0;
  for (const auto& [base, object] : listed) {
    if (!seen.contains(base)) continue;
    for (const auto& [offset, to] : object.words) {
      if (!seen.contains(to)) ++referenced;
    }
  }
  CHECK(referenced == 0);
  print_figure(
      fmt::format("Nix: {} objects and their references as the collector lists them", seen.size()));
}

TEST_CASE("a Nix evaluation's values are counted by the expressions that made them") {
  const std::string nix = "/usr/bin/nix-instantiate";
  if (::access(nix.c_str(), X_OK) != 0) {
    print_skip(nix + " is not installed");
    return;
  }
  const Release release = release_of("nix", {nix, "--version"}, {"2.8.0"});
  const std::string here = __FILE__;
  const std::string source = here.substr(0, here.rfind('/')) + "/targets/sessions.nix";
  ChildProcess child(
      {"/bin/sh", "-c", R"(exec "$0" --store dummy:// --eval "$1" 2>&1)", nix, source});
  const std::string ready = "trace: ready sessions=";
  std::optional<std::string> line = child.read_line(seconds(120));
  while (line && !line->starts_with(ready)) line = child.read_line(seconds(120));
  REQUIRE(line);
  const std::int64_t sessions = std::stoll(line->substr(ready.size()));
  const Count count = count_of(child.pid(), release);
  const auto of = [&](std::string_view what, int at_line) {
    const auto found = count.objects.find(fmt::format("{} at {}:{}", what, source, at_line));
    return found == count.objects.end() ? 0 : found->second;
  };
  if (!release.is_tried && of("set", 5) == 0) {
    return print_untried(release, "its values have no names");
  }
  CHECK(of("set", 5) == sessions);
  CHECK(count.objects.at(fmt::format("(attributes of set at {}:5)", source)) == sessions);
  CHECK(of("thunk", 9) == sessions);
  CHECK(of("lambda greet", 11) == sessions);
  CHECK(of("thunk", 12) == 2 * sessions);
  // The variables of each call, which the thunk in line 9 and others below it use.
  CHECK(of("environment used", 9) == sessions);
  CHECK(count.objects.at("list") >= sessions);
  CHECK(count.named > 0.99);
  const std::string pid = fmt::format("{}", child.pid());
  const ToolRun why = run_tool({"why", fmt::format("lambda greet at {}:11", source), pid});
  CAPTURE(why.output);
  CHECK(why.output.find("(attributes of set at " + source + ":5)") != std::string::npos);
  CHECK(why.output.find("greet → 0x") != std::string::npos);
  const ToolRun suspects = run_tool({"suspects", pid});
  CAPTURE(suspects.output);
  CHECK(suspects.output.find(fmt::format("1. {} set at {}:5 ", sessions, source)) !=
        std::string::npos);
  compare_with_collector(child.pid());
}

// With debug information, and the collector loaded at run time.
TEST_CASE(
    "a Nim program's objects have the type that they say, and not the one of their variable") {
  if (!is_target_built("sessions_nim")) return;
  const Release nim = release_of("nim", {"nim", "--version"}, {"1.6"});
  LiveTarget target("sessions_nim");
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), nim);
  if (!nim.is_tried && !count.objects.contains("Admin")) {
    return print_untried(nim, "its objects say something else");
  }
  CHECK(count.objects.at("Session") == truth.at("sessions"));
  CHECK(count.objects.at("Admin") == truth.at("admins"));
  CHECK(count.objects.at("Cart") == truth.at("carts"));
  CHECK(count.objects.at("seq[Item]") == truth.at("carts"));
  CHECK(count.objects.at("closure of totalOf") == truth.at("carts"));
  CHECK(count.objects.at("seq[tuple[int, string, int]]") == 1);
  CHECK(count.named > 0.99);
  for (const auto& row : count.objects) {
    const std::string& name = row.first;
    CAPTURE(name);
    CHECK(name.find("tyObject_") == std::string::npos);
  }
  const ToolRun strings = run_tool({"strings", "--top", "1", fmt::format("{}", target.pid())});
  CAPTURE(strings.output);
  CHECK(strings.output.find("guest 0") != std::string::npos);
  const ToolRun suspects = run_tool({"suspects", fmt::format("{}", target.pid())});
  CAPTURE(suspects.output);
  CHECK(suspects.output.find("1. one seq[Session] keeps ") != std::string::npos);
  CHECK(suspects.output.find("global sessions__") != std::string::npos);
}

// What the type information of objects of inheritable types leads to.
void check_nim_types(const std::string& program, const std::map<std::string, std::string>& names) {
  CAPTURE(program);
  const Release nim = release_of("nim", {"nim", "--version"}, {"1.6"});
  if (!nim.is_tried) return print_untried(nim, "only with debug information");
  LiveTarget target(program);
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), nim);
  for (const auto& expected : names) {
    const std::string& name = expected.first;
    CAPTURE(name);
    REQUIRE(count.objects.contains(name));
    CHECK(count.objects.at(name) == truth.at(expected.second));
  }
  CHECK(count.objects.at("string") >= truth.at("sessions") + truth.at("admins"));
  // Only variables lead to the carts, and nothing says what these are.
  CHECK_FALSE(count.objects.contains("cart"));
  CHECK(count.named > 0.7);
  print_figure(fmt::format("{}: {:.1f} % of the bytes have names", program, 100 * count.named));
  const ToolRun strings = run_tool({"strings", "--top", "1", fmt::format("{}", target.pid())});
  CAPTURE(strings.output);
  CHECK(strings.output.find("guest 0") != std::string::npos);
}

TEST_CASE("without debug information, Nim's own type information names objects") {
  if (!is_target_built("sessions_nim")) return;
  check_nim_types("sessions_nim_symbols", {{"session", "sessions"},
                                           {"admin", "admins"},
                                           {"seq[int]", "admins"},
                                           {"(closure with price1)", "carts"}});
  check_nim_types("sessions_nim_stripped", {{"(object with name, visits)", "sessions"},
                                            {"(object with level, log, name, visits)", "admins"},
                                            {"seq[int]", "admins"},
                                            {"(closure with price1)", "carts"}});
}

TEST_CASE("a Nim program with an allocator of its own is named, with and without symbols") {
  if (!is_target_built("sessions_nim_orc")) return;
  for (const std::string name : {"sessions_nim_orc", "sessions_nim_orc_stripped"}) {
    CAPTURE(name);
    LiveTarget target(name);
    const ToolRun run = run_tool({"count", fmt::format("{}", target.pid())});
    CAPTURE(run.errors);
    CHECK(run.errors.find("Nim keeps its objects in an allocator of its own") != std::string::npos);
    CHECK(run.errors.find("--mm:boehm") != std::string::npos);
  }
}

void check_v(const std::string& name) {
  LiveTarget target(name);
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), Release{"V", "", true});
  CHECK(count.objects.at("main.Session") == truth.at("sessions"));
  CHECK(count.objects.at("(buffer of []main.Item)") == truth.at("item_buffers"));
  CHECK(count.objects.at("(buffer of []int)") == truth.at("rows"));
  CHECK(count.objects.at("(buffer of []&main.Session)") == 2);
  CHECK(count.objects.at("(buffer of map[string]&main.Session)") == 2);
  CHECK(count.objects.at("(buffer of map[int]f64)") == 2);
  CHECK(count.objects.at("main.Circle") == truth.at("circles"));
  CHECK(count.objects.at("main.Square") == truth.at("squares"));
  CHECK(count.objects.at("main.Dog") == truth.at("dogs"));
  CHECK(count.objects.at("main.Cat") == truth.at("cats"));
  CHECK_FALSE(count.objects.contains("(value of main.Shape)"));
  // Nothing in this program says which number stands for which type of an event.
  CHECK(count.objects.at("(value of main.Event)") == truth.at("events"));
  CHECK(count.objects.at("(buffer of string)") == truth.at("texts"));
  // The buffers of a map whose typedef can be understood in two ways.
  CHECK(count.objects.at("(unknown)") == 2);
  CHECK(count.named > 0.95);
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun strings = run_tool({"strings", "--top", "1", pid});
  CAPTURE(strings.output);
  CHECK(strings.output.find("  string  \"book 0\"") != std::string::npos);
  const ToolRun suspects = run_tool({"suspects", pid});
  CAPTURE(suspects.output);
  CHECK(suspects.output.find("1. one main.App keeps ") != std::string::npos);
}

// V's compiler is not everywhere: a program in the shape of its C is.
TEST_CASE("a program in the shape of V's C has V's names for arrays, maps and strings") {
  for (const std::string name : {"v_shaped", "v_shaped_managed"}) {
    CAPTURE(name);
    if (is_target_built(name)) check_v(name);
  }
}

}  // namespace heapattach
