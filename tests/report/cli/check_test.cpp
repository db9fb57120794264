#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "attach/base/fd.h"
#include "report/cli/runner.h"
#include "report/format/export/formats.h"
#include "report/format/write/text_reports.h"
#include "symbols/malloc/source.h"
#include "symbols/ruby/source.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

using snapshot::Examination;

namespace {

Examination sample() {
  Examination found;
  found.pid = 4711;
  found.exe = "/srv/app\x1b";
  found.user = 1000;
  found.threads = 3;
  found.states = {{'S', 2}, {'R', 1}};
  found.modules = 12;
  found.modules_with_symbols = 11;
  found.heap.emplace();
  found.heap->module = "libgc.so.1";
  found.heap->version = "8.2.2";
  found.heap->layout = "accessors";
  found.heap->heap_bytes = 4 << 20;
  found.heap->free_bytes = 1 << 20;
  found.heap->collections = 17;
  found.heap->runtime = "crystal";
  found.heap->classes = 174;
  found.heap->types = 812;
  found.heap->globals = 95;
  found.heap->freeze = std::chrono::milliseconds(110);
  found.heap->clone = std::chrono::milliseconds(9);
  return found;
}

class CheckRunner {
 public:
  CheckRunner() {
    options.pid = 4711;
    options.report = Report::Check;
    options.format = find_format("table");
    options.output = directory.file("check");
  }

  ExitStatus run_on(const Result<Examination>& found) {
    Console::Settings silent;
    silent.fd = -1;
    Console console(silent);
    Sources sources;
    sources.examination = [&](const auto&, const auto&, auto&) { return found; };
    return run_report(options, sources, console);
  }

  [[nodiscard]] std::string report() const {
    const auto fd = Fd::open(directory.file("check"), O_RDONLY);
    return fd ? *read_all(*fd, 1 << 20) : std::string();
  }

  TemporaryDirectory directory;
  Options options;
};

}  // namespace

TEST_CASE("Ruby's heap beside malloc's is called Ruby's, and its free slots are not known yet") {
  Examination found = sample();
  found.heap->kind = &ruby::kSlotsKind;
  found.heap->version = "3.1.2";
  found.heap->module = "libruby.so";
  found.heap->free_bytes.reset();
  found.heap->collections.reset();
  const std::string text = format_check_table(found);
  CHECK(text.find("collector   Ruby 3.1.2 in libruby.so, its layout known from: accessors\n"
                  "heap        4.0 MiB\n") != std::string::npos);
  CHECK(format_check_json(found).find(R"("heap_bytes":4194304,"collecting")") != std::string::npos);
}

TEST_CASE("--check of a Ruby process says its release, and how it would be read") {
  Examination found = sample();
  found.heap.reset();
  snapshot::RubyFacts& ruby = found.ruby.emplace();
  ruby.version = "3.1.2";
  ruby.description = "ruby 3.1.2p20";
  ruby.module = "libruby-3.1.so.3.1.2";
  ruby.heap_bytes = 2 << 20;
  ruby.freeze = std::chrono::milliseconds(7);
  ruby.clone = std::chrono::milliseconds(5);
  const auto says = [&](const std::string& part) {
    return format_check_table(found).find(part) != std::string::npos;
  };
  CHECK(says("ruby        3.1.2 in libruby-3.1.so.3.1.2: ruby 3.1.2p20\n"));
  CHECK(says("heap        2.0 MiB in Ruby's pages\n"));
  CHECK(says("freeze      would stop it for about 7 ms"));
  CHECK(says("verdict     nothing prevents a snapshot\n"));
  ruby.no_outside = "Ruby 9.9 cannot be read from outside";
  CHECK(says("no freeze   Ruby 9.9 cannot be read from outside\n"));
  CHECK(format_check_json(found).find(
            R"("runtime":"ruby","ruby":{"version":"3.1.2","description":"ruby 3.1.2p20",)") !=
        std::string::npos);
  CHECK(format_check_json(found).find(R"("outside":false,"reason":"Ruby 9.9)") !=
        std::string::npos);
}

TEST_CASE("--check prints a line for each fact, and the verdict last") {
  CHECK(format_check_table(sample()) ==
        "process     4711 /srv/app\\x1b, user 1000\n"
        "threads     3: 2 sleeping, 1 running\n"
        "symbols     11 of 12 modules have some\n"
        "collector   bdwgc 8.2.2 in libgc.so.1, its layout known from: accessors\n"
        "heap        4.0 MiB, 1.0 MiB of it free; 17 collections so far\n"
        "types       crystal program; 174 classes that its objects name, 812 types with fields, 95 "
        "globals\n"
        "freeze      would stop it for about 110 ms, longer on a busy machine\n"
        "clone       would stop it for about 9 ms, longer on a busy machine\n"
        "verdict     nothing prevents a snapshot\n");
}

TEST_CASE("--check says that malloc has a heap, too, and how to read both") {
  Examination found = sample();
  found.heap->beside = {&glibc::kHeapKind};
  CHECK(format_check_table(found).find("\nmalloc      has a heap, too: --heap both reads both\n") !=
        std::string::npos);
  CHECK(format_check_json(found).find(R"("collecting":false},"malloc":true,"runtime")") !=
        std::string::npos);
}

TEST_CASE("--check prints one JSON object") {
  Examination found = sample();
  found.obstacles.push_back({"clone", "a \"seccomp\" filter"});
  CHECK(format_check_json(found) ==
        R"({"version":1,"pid":4711,"ok":true,"exe":"/srv/app\u001b","user":1000,"threads":3,)"
        R"("thread_states":{"S":2,"R":1},"filtered_threads":0,"modules":12,)"
        R"("modules_with_symbols":11,"collector":{"module":"libgc.so.1","version":"8.2.2",)"
        R"("layout":"accessors","heap_bytes":4194304,"free_bytes":1048576,"collections":17,)"
        R"("collecting":false},"runtime":"crystal","classes":174,"types":812,"globals":95,)"
        R"("pause_ms":{"freeze":110,"clone":9},)"
        R"("obstacles":[{"way":"clone","reason":"a \"seccomp\" filter"}]})"
        "\n");
}

TEST_CASE("--check reports what a trace would follow, or why there can be none") {
  Examination found = sample();
  const auto has = [&found](std::string_view table, std::string_view json) {
    CHECK(format_check_table(found).find(table) != std::string::npos);
    CHECK(format_check_json(found).find(json) != std::string::npos);
  };
  found.trace = {{"GC_malloc_kind", "GC_realloc"}, true, {"frees are not followed"}, {}};
  has("\ntrace       GC_malloc_kind, GC_realloc can be followed\n            frees are not "
      "followed\n",
      R"("trace":{"ok":true,"entries":["GC_malloc_kind","GC_realloc"],"follows_ends":true,)"
      R"("notes":["frees are not followed"]},"obstacles")");
  found.trace->bytes_per_second = 10 << 20;
  found.trace->cost = 0.00123;
  has("\n            it allocates 10.0 MiB/s now: a trace would take about 0.12 % of one "
      "processor\n",
      R"("notes":["frees are not followed"],"bytes_per_second":10485760,"cost":0.001230},)");
  found.trace = {{}, false, {}, "seccomp"};
  has("\nno trace    seccomp\n", R"("trace":{"ok":false,"reason":"seccomp"},"obstacles")");
}

TEST_CASE("--check judges the way that a snapshot would take") {
  using snapshot::Hold;
  Examination found = sample();
  CHECK_FALSE(refusal_of(Hold::Freeze, found));
  found.obstacles = {{"freeze", "it may take 3000 ms, and 2000 ms are allowed"}};
  CHECK(refusal_of(Hold::Freeze, found) == ErrorKind::Timeout);
  CHECK_FALSE(refusal_of(Hold::Clone, found));
  CHECK_FALSE(refusal_of(Hold::Auto, found));
  CHECK_FALSE(refusal_of(Hold::Nothing, found));
  found.refusal = refusal_of(Hold::Freeze, found);
  CHECK(format_check_table(found).ends_with(
      "verdict     a snapshot can be taken with --snapshot clone\n"));
  found.obstacles = {{"clone", "a seccomp filter"}};
  CHECK_FALSE(refusal_of(Hold::Freeze, found));
  CHECK(refusal_of(Hold::Clone, found) == ErrorKind::Impossible);
  CHECK(format_check_table(found).ends_with(
      "verdict     a snapshot can be taken with --snapshot freeze\n"));
  found.obstacles.push_back({"freeze", "it may take 3000 ms"});
  CHECK(refusal_of(Hold::Auto, found).has_value());
  CHECK(format_check_table(found).ends_with("verdict     no snapshot can be taken\n"));
  found.obstacles = {{"any", "no memory"}};
  CHECK(refusal_of(Hold::Nothing, found) == ErrorKind::Os);
}

TEST_CASE("--check says why a snapshot would be partial") {
  Examination found = sample();
  found.gap = "the program pushes more roots";
  CHECK(format_check_table(found).ends_with(
      "partial     the program pushes more roots\n"
      "verdict     a snapshot can be taken, but it would be partial\n"));
  CHECK(format_check_json(found).ends_with(
      R"("obstacles":[],"partial":"the program pushes more roots"})"
      "\n"));
}

TEST_CASE("the status of --check is that of a snapshot") {
  CheckRunner runner;
  SUBCASE("complete if one way works, and the obstacle to the other is named") {
    Examination found = sample();
    found.obstacles.push_back({"clone", "no room"});
    CHECK(runner.run_on(found) == ExitStatus::Complete);
    CHECK(runner.report().ends_with("no clone    no room\nverdict     a snapshot can be taken\n"));
  }
  SUBCASE("with the status of the obstacle to all ways") {
    Examination found;
    found.pid = 4711;
    found.obstacles.push_back({"any", "not permitted: Yama"});
    found.refusal = ErrorKind::Denied;
    CHECK(runner.run_on(found) == ExitStatus::Denied);
    CHECK(runner.report().ends_with(
        "obstacle    not permitted: Yama\nverdict     no snapshot can be taken\n"));
  }
  SUBCASE("as partial if it would be, and can be taken at all") {
    Examination found = sample();
    found.gap = "the program pushes more roots";
    SUBCASE("it can") {
      CHECK(runner.run_on(found) == ExitStatus::Partial);
    }
    SUBCASE("it cannot") {
      found.refusal = ErrorKind::Os;
      CHECK(runner.run_on(found) == ExitStatus::Failed);
    }
  }
  SUBCASE("as gone if there is no process") {
    CHECK(runner.run_on(Error{ErrorKind::Gone, "process 4711 exited"}) == ExitStatus::Gone);
    CHECK(runner.report().empty());
  }
  SUBCASE("with an error if its output cannot be written") {
    runner.options.output = runner.directory.file("missing/check");
    CHECK(runner.run_on(sample()) == ExitStatus::Output);
  }
}

}  // namespace heapattach
