#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "attach/base/fd.h"
#include "report/cli/runner.h"
#include "report/cli/trace_choice.h"
#include "report/format/export/formats.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/small_trace.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

Options parsed(std::vector<const char*> arguments) {
  arguments.push_back("trace.jsonl");
  const ParsedOptions options = parse_options(arguments);
  if (const auto* wrong = std::get_if<UsageError>(&options)) MESSAGE(wrong->message);
  REQUIRE(std::holds_alternative<Options>(options));
  return std::get<Options>(options);
}

struct Ran {
  ExitStatus status = ExitStatus::Failed;
  std::string text;
};

Ran run(const std::vector<const char*>& arguments, const trace::Trace& trace) {
  const TemporaryDirectory directory;
  Options options = parsed(arguments);
  options.output = directory.file("report");
  Console::Settings silent;
  silent.fd = -1;
  Console console(silent);
  Sources sources;
  sources.trace = [&](const auto&, const auto&, auto&, const auto&) -> Result<trace::Trace> {
    return trace;
  };
  Ran ran;
  ran.status = run_report(options, sources, console);
  const auto fd = Fd::open(options.output, O_RDONLY);
  if (fd) ran.text = *read_all(*fd, 1 << 20);
  return ran;
}

std::string wrong(const std::vector<const char*>& arguments) {
  const ParsedOptions options = parse_options(arguments);
  REQUIRE(std::holds_alternative<UsageError>(options));
  return std::get<UsageError>(options).message;
}

TEST_CASE("options choose the rows of a trace") {
  const Ran ran = run({"trace", "-f", "tsv", "--by", "function", "--sort", "in-use", "--top", "1"},
                      small_trace());
  CHECK(ran.status == ExitStatus::Complete);
  CHECK(ran.text.ends_with("\n4\t328\t82\t2\t248\t4\t\t(unknown) and 2 more\tShop#login\n"));
  CHECK(
      run({"--trace", "-f", "folded", "--value", "alloc_objects", "--type", "Str*"}, small_trace())
          .text == "Shop#serve;Shop#login;String 1\n");
  CHECK(run({"--trace", "-f", "tsv", "--min-count", "2", "--frames", "none"}, small_trace())
            .text.ends_with("\n2\t96\t24\t1\t48\t2\t\tSession\t\n"));
  CHECK(
      run({"--trace", "-f", "folded", "--depth", "1", "--full", "--min-bytes", "1"}, small_trace())
          .text.starts_with("GC_malloc_kind 300\nGC_malloc_kind;Session 96\n"));
}

TEST_CASE("a type that the trace does not have is a usage error, after the report") {
  trace::Trace trace = small_trace();
  SUBCASE("of a whole trace") {}
  SUBCASE("of a trace that lost samples") {
    trace.header.drops = 1;
  }
  for (const char* format : {"table", "tsv", "json", "memprof", "pprof", "alys", "svg", "html"}) {
    CAPTURE(format);
    const Ran ran = run({"trace", "-f", format, "--type", "Sesion"}, trace);
    CHECK(ran.status == ExitStatus::Usage);
    CHECK_FALSE(ran.text.empty());
  }
}

TEST_CASE("a trace that lost samples or is cut short is partial in every format") {
  trace::Trace trace = small_trace();
  SUBCASE("samples were lost") {
    trace.header.drops = 1;
  }
  SUBCASE("it ended early") {
    trace.header.complete = false;
    trace.header.reason = "the process exited";
  }
  for (const char* format : {"table", "tsv", "json", "memprof", "jsonl", "pprof", "alys", "svg"}) {
    CAPTURE(format);
    const Ran ran = run({"--trace", "-f", format}, trace);
    CHECK(ran.status == ExitStatus::Partial);
    CHECK_FALSE(ran.text.empty());
  }
}

TEST_CASE("a recorder left in the process decides the status, even if no trace has begun") {
  trace::Trace trace = small_trace();
  trace.header.left_in = "the recorder could not be taken out";
  CHECK(run({"--trace", "-f", "tsv"}, trace).text ==
        run({"--trace", "-f", "tsv"}, small_trace()).text);
  CHECK(run({"--trace"}, trace).status == ExitStatus::NotReleased);
  trace.header.drops = 1;
  CHECK(run({"--trace"}, trace).status == ExitStatus::NotReleased);
  trace.header.started.clear();
  trace.header.complete = false;
  const Ran ran = run({"--trace"}, trace);
  CHECK(ran.status == ExitStatus::NotReleased);
  CHECK(ran.text.empty());
}

TEST_CASE("a format of a trace is chosen by the file's extension") {
  const auto format_of = [](const char* file) {
    return parsed({"trace", "-o", file}).format->name;
  };
  CHECK(format_of("x.pb.gz") == "pprof");
  CHECK(format_of("x.jsonl.gz") == "jsonl");
  CHECK(format_of("x.folded") == "folded");
  CHECK(format_of("x.svg") == "svg");
  CHECK(format_of("x.speedscope") == "speedscope");
  CHECK(format_of("x.json") == "json");
}

TEST_CASE("a saved trace becomes a page without a heap") {
  const Ran ran = run({"trace", "-f", "html"}, small_trace());
  CHECK(ran.status == ExitStatus::Complete);
  CHECK(ran.text.find("\"has_heap\":false") != std::string::npos);
  CHECK(parsed({"trace", "-o", "x.html"}).format->name == "html");
}

TEST_CASE("a page of a traced process has its heap at the end, or says why not") {
  const TemporaryDirectory directory;
  const ParsedOptions both = parse_options(std::vector<const char*>{"trace", "4711"});
  Options options = std::get<Options>(both);
  options.format = find_format("html", writes<&Format::trace_page>);
  options.output = directory.file("report.html");
  Sources sources;
  sources.trace = [&](const auto&, const auto&, auto&, const auto&) -> Result<trace::Trace> {
    return small_trace();
  };
  bool is_gone = false;
  SUBCASE("it has a heap") {}
  SUBCASE("it has none any more") {
    is_gone = true;
  }
  sources.snapshot = [&](const auto&, const auto&, auto&) -> Result<snapshot::Snapshot> {
    if (is_gone) return Error{ErrorKind::Gone, "process 4711 has exited"};
    SnapshotBuilder heap;
    heap.object(0x1030, heap.type("Session"), 48);
    heap.snapshot.complete = true;
    return heap.snapshot;
  };
  Console::Settings silent;
  silent.fd = -1;
  Console console(silent);
  const ExitStatus status = run_report(options, sources, console);
  CHECK(status == (is_gone ? ExitStatus::Partial : ExitStatus::Complete));
  const std::string page = *read_all(*Fd::open(options.output, O_RDONLY), 1 << 20);
  const char* const flag = is_gone ? "\"has_heap\":false" : "\"has_heap\":true";
  CHECK(page.find(flag) != std::string::npos);
  CHECK(page.find("\"trace\":{") != std::string::npos);
}

Ran run_on_process(const std::vector<const char*>& arguments,
                   const std::function<Result<snapshot::Snapshot>()>& heap,
                   int* taken) {
  const TemporaryDirectory directory;
  std::vector<const char*> words = arguments;
  words.push_back("4711");
  Options options = std::get<Options>(parse_options(words));
  options.output = directory.file("report");
  Sources sources;
  sources.trace = [](const auto&, const auto&, auto&, const auto&) -> Result<trace::Trace> {
    return small_trace();
  };
  sources.snapshot = [&](const auto&, const auto&, auto&) -> Result<snapshot::Snapshot> {
    ++*taken;
    return heap();
  };
  Console::Settings silent;
  silent.fd = -1;
  Console console(silent);
  Ran ran;
  ran.status = run_report(options, sources, console);
  ran.text = *read_all(*Fd::open(options.output, O_RDONLY), 1 << 20);
  return ran;
}

TEST_CASE("in every format, what the heap at the end does not have is not in use") {
  const auto one_left = []() -> Result<snapshot::Snapshot> {
    SnapshotBuilder heap;
    heap.object(0x1030, heap.type("Session"), 48);
    heap.snapshot.complete = true;
    return heap.snapshot;
  };
  const auto gone = []() -> Result<snapshot::Snapshot> {
    return Error{ErrorKind::Gone, "process 4711 has exited"};
  };
  const auto in_use = [](const Ran& ran) {
    constexpr std::string_view kKey = "\"in_use_bytes\":";
    const auto at = ran.text.find(kKey, ran.text.find("\"total\":"));
    REQUIRE(at != std::string::npos);
    return std::stoi(ran.text.substr(at + kKey.size()));
  };
  int taken = 0;
  const std::vector<const char*> json = {"trace", "-f", "json"};
  const Ran marked = run_on_process(json, one_left, &taken);
  CHECK(in_use(marked) == 48);
  CHECK(marked.status == ExitStatus::Complete);
  CHECK(taken == 1);
  const Ran saved = run_on_process({"trace", "-f", "jsonl"}, one_left, &taken);
  CHECK(saved.text.find("\"record\":\"free\"") != std::string::npos);
  CHECK(taken == 2);
  // Without the final mark, the trace is whole, and says what is different.
  const Ran unmarked = run_on_process(json, gone, &taken);
  CHECK(in_use(unmarked) == 248);
  CHECK(unmarked.status == ExitStatus::Complete);
  CHECK(unmarked.text.find("could not be marked at the end: process 4711 has exited") !=
        std::string::npos);
  CHECK(taken == 3);
  CHECK(in_use(run_on_process({"trace", "--no-mark", "-f", "json"}, one_left, &taken)) == 248);
  CHECK(taken == 3);
}

TEST_CASE("a short name of a type means the full one, and one that names none is a problem") {
  trace::Trace trace = small_trace();
  trace.types[0].name = "Shop::Session";
  Options options = parsed({"trace", "--type", "Session", "--type", "Nothing"});
  std::vector<std::string> problems;
  CHECK(choice_of(options, trace, problems).types ==
        std::vector<std::string>{"Shop::Session", "Nothing"});
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("Nothing") != std::string::npos);
}

TEST_CASE("options that do not suit a trace are refused") {
  CHECK(wrong({"trace", "--every", "1", "t.jsonl"}).find("needs a live process") !=
        std::string::npos);
  CHECK(wrong({"trace", "--every", "0", "4711"}).find("--every 0") != std::string::npos);
  CHECK(wrong({"trace", "--for", "soon", "4711"}).find("not a time") != std::string::npos);
  CHECK(wrong({"trace", "1", "2"}).find("takes one process") != std::string::npos);
  CHECK(wrong({"trace", "--by", "holder", "t.jsonl"}).find("not one of stack") !=
        std::string::npos);
  CHECK(wrong({"trace", "--sort", "name", "t.jsonl"}).find("not one of allocated") !=
        std::string::npos);
  CHECK(wrong({"count", "--by", "stack", "4711"}).find("not one of type, holder") !=
        std::string::npos);
  CHECK(wrong({"count", "--depth", "3", "4711"}).find("--depth is for --trace") !=
        std::string::npos);
  CHECK(wrong({"trace", "--redact", "full", "t.jsonl"}).find("--trace") != std::string::npos);
  CHECK(wrong({"trace", "--snapshot", "read", "t.jsonl"}).find("not for --trace") !=
        std::string::npos);
}

}  // namespace

}  // namespace heapattach
