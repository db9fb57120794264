#include "report/cli/options.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "report/format/export/formats.h"

namespace heapattach {

namespace {

ParsedOptions parse(std::initializer_list<const char*> arguments) {
  return parse_options({arguments.begin(), arguments.size()});
}

Options good(std::initializer_list<const char*> arguments) {
  const ParsedOptions parsed = parse(arguments);
  if (const auto* wrong = std::get_if<UsageError>(&parsed)) MESSAGE(wrong->message);
  REQUIRE(std::holds_alternative<Options>(parsed));
  return std::get<Options>(parsed);
}

// The message of a usage error, which must be one line.
std::string wrong(std::initializer_list<const char*> arguments) {
  const ParsedOptions parsed = parse(arguments);
  REQUIRE(std::holds_alternative<UsageError>(parsed));
  const std::string message = std::get<UsageError>(parsed).message;
  CHECK_FALSE(message.empty());
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

}  // namespace

TEST_CASE("a pid alone asks for a snapshot with the defaults") {
  const Options options = good({"4711"});
  CHECK(options.pid == 4711);
  CHECK(options.report == Report::Snapshot);
  CHECK(options.format->name == "jsonl");
  CHECK(options.hold == snapshot::Hold::Freeze);
  CHECK(options.rewind);
  CHECK(options.timeout == std::chrono::seconds(60));
  CHECK_FALSE(options.max_pause);
  CHECK_FALSE(options.with_gzip);
  CHECK(good({"-p", "4711"}).pid == 4711);
}

TEST_CASE("an argument that is not a number is a saved snapshot") {
  CHECK(good({"--count", "heap.jsonl"}).file == "heap.jsonl");
  CHECK(good({"--count", "4711"}).file.empty());
}

TEST_CASE("all options of counts are read") {
  const Options options =
      good({"--count", "--sort", "name", "--top", "5", "--type", "Acme::*", "--type", "String",
            "--min-bytes", "4k", "--all", "--fail-if", "count(Hash(String, Foo | Nil)) > 10",
            "--fail-if=bytes(*)>1G", "4711", "-f", "csv", "-q"});
  CHECK(options.report == Report::Count);
  CHECK(options.rows.sort == snapshot::SortBy::Name);
  CHECK(options.rows.top == 5);
  CHECK(options.rows.types == std::vector<std::string>{"Acme::*", "String"});
  CHECK(options.rows.min_bytes == 4096);
  CHECK(options.all);
  CHECK(options.fail_if.size() == 2);
  CHECK(options.format->name == "csv");
  CHECK(options.pid == 4711);
}

TEST_CASE("a repeatable option takes one value and leaves the pid alone") {
  const Options options = good({"--count", "--type", "String", "4711"});
  CHECK(options.pid == 4711);
  CHECK(options.rows.types.size() == 1);
}

TEST_CASE("times may have a fraction and must be above 0") {
  const Options options = good({"--timeout", "1.5", "--max-pause", "250", "--no-rewind", "1"});
  CHECK(options.timeout == std::chrono::milliseconds(1500));
  CHECK(options.max_pause == std::chrono::milliseconds(250));
  CHECK_FALSE(options.rewind);
  const Options with_units = good({"--timeout", "2m", "--max-pause", "0.5s", "1"});
  CHECK(with_units.timeout == std::chrono::minutes(2));
  CHECK(with_units.max_pause == std::chrono::milliseconds(500));
  for (const char* bad : {"0", "-1", "x", "", "1x", "s", "nan", "inf", "1e300"}) {
    CAPTURE(bad);
    wrong({"--timeout", bad, "4711"});
  }
  CHECK(wrong({"--max-pause", "0.01", "4711"}) ==
        "--max-pause 0.01: the shortest limit is 1 millisecond");
  CHECK(wrong({"--max-pause", "0.5ms", "4711"}) ==
        "--max-pause 0.5ms: the shortest limit is 1 millisecond");
}

TEST_CASE("the format follows the file's extension unless it is named") {
  CHECK(good({"--count", "1"}).format->name == "table");
  CHECK(good({"--count", "1", "-o", "x.tsv"}).format->name == "tsv");
  CHECK(good({"--count", "1", "-o", "a.b/x.json"}).format->name == "json");
  CHECK(good({"--count", "1", "-o", "x.md"}).format->name == "markdown");
  CHECK(good({"--count", "1", "-o", "a.tsv/x"}).format->name == "table");
  CHECK(good({"--count", "1", "-o", "x.json", "-f", "tsv"}).format->name == "tsv");
  CHECK(good({"1", "-o", "x.json"}).format->name == "jsonl");
  CHECK(good({"1", "-o", "heap.%p"}).format->name == "jsonl");
  CHECK(good({"1", "-o", "heap.4711"}).format->name == "jsonl");
  CHECK(good({"1", "-o", ".hidden"}).format->name == "jsonl");
  const Options packed = good({"--count", "1", "-o", "x.csv.gz"});
  CHECK(packed.format->name == "csv");
  CHECK(packed.with_gzip);
  CHECK(wrong({"--count", "1", "-o", "x.jsonl"}).find(".jsonl") != std::string::npos);
  CHECK(wrong({"1", "-o", "x.csv"}).find(".csv") != std::string::npos);
  CHECK(wrong({"1", "-f", "csv"}).find("jsonl") != std::string::npos);
  CHECK(wrong({"--count", "1", "-f", "yaml"}).find("memprof") != std::string::npos);
}

TEST_CASE("a file with an unsupported extension is refused with a list of the supported ones") {
  CHECK(good({"1", "-o", "x.pprof"}).format == find_format("pprof"));
  CHECK(good({"1", "-o", "x.hprof.gz"}).format == find_format("hprof"));
  CHECK(wrong({"1", "-o", "x.unknown"}).find(".jsonl, .ndjson, .json, .html, .heapsnapshot") !=
        std::string::npos);
  CHECK(wrong({"1", "-o", "x.txt"}).find("a snapshot is not written as .txt") != std::string::npos);
  const std::vector<std::string_view> reports = {"--suspects", "--check", "--summary",
                                                 "--strings",  "--count", "--watch=1s"};
  for (const std::string_view report : reports) {
    CAPTURE(report);
    const std::string refused = wrong({report.data(), "1", "-o", "y.html"});
    CHECK(refused.find("not written as .html; use .txt") != std::string::npos);
    CHECK(refused.find(".json") != std::string::npos);
    CHECK(good({report.data(), "1", "-o", "y.txt"}).format->name == "table");
    CHECK(good({report.data(), "1", "-o", "y.html", "-f", "json"}).format->name == "json");
  }
  CHECK(wrong({"--graph", "X", "1", "-o", "x.svg"}).find(".mmd") != std::string::npos);
  CHECK(good({"--graph", "X", "1", "-o", "x.mmd"}).format->name == "mermaid");
  CHECK(wrong({"--diff", "a", "b", "-o", "x.csv"}).find(".html") != std::string::npos);
  CHECK(good({"--stacks", "1", "-o", "x.folded.gz"}).format->name == "folded");
  CHECK(good({"--call", "f()", "1", "-o", "x.bin"}).report == Report::Call);
}

TEST_CASE("several processes are named, found in a tree or by their name") {
  const Options several = good({"--stacks", "1", "2", "-p", "3"});
  CHECK(several.pids == std::vector<pid_t>{1, 2, 3});
  CHECK(several.pid == 1);
  CHECK_FALSE(several.tree);
  const Options tree = good({"--tree", "7", "--count", "-o", "%p.txt"});
  CHECK(tree.tree);
  CHECK(tree.pids == std::vector<pid_t>{7});
  CHECK(good({"--sizes", "--name", "web-*"}).name == "web-*");
  CHECK(good({"4711"}).pids == std::vector<pid_t>{4711});
  CHECK(good({"heap.jsonl"}).pids.empty());
  CHECK(good({"1", "2", "-o", "all.html"}).format->name == "html");
  CHECK(good({"--stacks", "--name", "web", "-o", "all.html"}).format->name == "html");
  CHECK(good({"--count", "--tree", "1", "-o", "all.csv"}).format->name == "csv");
  CHECK(wrong({"1", "2", "-o", "all.jsonl"}).find("-o NAME.%p") != std::string::npos);
}

TEST_CASE("a usage error is reported in one message") {
  wrong({});
  wrong({"0"});
  wrong({"99999999999999999999"});
  wrong({"1", "--tree", "2"});
  wrong({"--tree", "2", "--name", "web"});
  wrong({"1", "2"});  // two snapshots in one stream
  wrong({"--count", "1", "2", "-o", "file"});
  wrong({"--count", "1", "./file"});
  wrong({"--count", "--name", "web", "-o", "file"});
  wrong({"--watch", "1s", "--tree", "1"});
  wrong({"--tree", "x"});
  wrong({"--nonsense", "1"});
  CHECK(good({"leaks", "--confirm", "2s", "4711"}).pid == 4711);
  CHECK(good({"leaks", "--confirm", "2", "4711"}).pid == 4711);
  CHECK(wrong({"leaks", "--confirm", "4711", "4712"}).find("looks like a process id") !=
        std::string::npos);
  const Options traced = good({"leaks", "--trace", "60s", "4711"});
  CHECK(traced.report == Report::Leaks);
  CHECK(traced.with_trace.length == std::chrono::seconds(60));
  CHECK(good({"--leaks", "--trace", "60s", "--every", "64k", "4711"}).with_trace.every == 65536);
  CHECK(good({"leaks", "--trace", "60s", "-f", "pprof", "4711"}).pid == 4711);
  const Options growing = good({"suspects", "4711", "--trace", "60s"});
  CHECK(growing.report == Report::Suspects);
  CHECK(growing.with_trace.length == std::chrono::seconds(60));
  CHECK(wrong({"suspects", "--every", "64k", "4711"}).find("needs --trace") != std::string::npos);
  CHECK(wrong({"count", "--with-trace", "1s", "4711"}).find("--with-trace") != std::string::npos);
  CHECK(good({"--trace", "4711"}).report == Report::Trace);
  CHECK(wrong({"leaks", "--every", "64k", "4711"}).find("needs --trace") != std::string::npos);
  CHECK(wrong({"leaks", "-f", "pprof", "4711"}).find("needs --trace") != std::string::npos);
  CHECK(wrong({"leaks", "--trace", "1s", "--every", "1", "4711"}).find("above 1") !=
        std::string::npos);
  CHECK(wrong({"leaks", "--confirm", "42"}).find("leaks --confirm 2s PID") != std::string::npos);
  wrong({"--sizes", "--count", "1"});
  wrong({"--sort", "retained", "--count", "1"});
  wrong({"--why", "A", "--count", "1"});
  wrong({"--why", "A", "--suspects", "1"});
  wrong({"--why", "A", "--exclude", "B", "1"});
  wrong({"--paths", "2", "1"});
  wrong({"--why", "A", "--levels", "2", "1"});
  wrong({"-q", "-v", "1"});
  wrong({"--top", "0", "--count", "1"});
  wrong({"--top", "5", "1"});
  wrong({"--sort", "colour", "--count", "1"});
  wrong({"--min-bytes", "99999999999G", "--count", "1"});
  wrong({"--fail-if", "objects > 1", "1"});
  CHECK(good({"stacks", "--fail-if", "deadlock", "1"}).fail_if.size() == 1);
  CHECK(wrong({"stacks", "--fail-if", "count(A) > 1", "1"}).find("--stacks is deadlock") !=
        std::string::npos);
  CHECK(wrong({"count", "--fail-if", "deadlock", "1"}).find("--stacks") != std::string::npos);
  CHECK(wrong({"diagnose", "--fail-if", "deadlock", "1"}).find("found") != std::string::npos);
  wrong({"--color", "red", "1"});
  CHECK(wrong({"--snapshot", "clone", "heap.jsonl"}).find("live process") != std::string::npos);
  CHECK(wrong({"-f", "gcfull", "1"}).find("--values") != std::string::npos);
  CHECK(wrong({"--check", "heap.jsonl"}).find("live process") != std::string::npos);
  CHECK(wrong({"-p", "heap.jsonl"}).find("not a process id") != std::string::npos);
  CHECK(wrong({"--snapshot", "fork", "1"}).find("clone") != std::string::npos);
}

TEST_CASE("help and version are shown whatever else is asked") {
  const auto help = parse({"--help", "all"});
  REQUIRE(std::holds_alternative<ShowText>(help));
  const std::string& text = std::get<ShowText>(help).text;
  CHECK(text.find("Exit status") != std::string::npos);
  for (const Format* const format : formats_with(writes<&Format::snapshot>)) {
    CHECK(text.find(format->name) != std::string::npos);
  }
  CHECK(std::holds_alternative<ShowText>(parse({"-h", "--count"})));
  const auto version = parse({"--version"});
  REQUIRE(std::holds_alternative<ShowText>(version));
  CHECK(std::get<ShowText>(version).text.starts_with("heapattach "));
}

TEST_CASE("values are requested with or without a length, and never take the pid as one") {
  CHECK(good({"1"}).value_bytes == 0);
  CHECK(good({"--values", "4711"}).value_bytes == 64);
  CHECK(good({"--values", "4711"}).pid == 4711);
  CHECK(good({"4711", "--values=200"}).value_bytes == 200);
  for (const char* bad : {"--values=0", "--values=x", "--values=5000"}) {
    CHECK(wrong({bad, "1"}).find(bad) != std::string::npos);
  }
  CHECK(wrong({"--values", "--count", "1"}).find("--values") != std::string::npos);
}

TEST_CASE("sizes are sorted by retained bytes, and otherwise selected like counts") {
  CHECK(good({"--sizes", "1"}).report == Report::Sizes);
  CHECK(good({"--sizes", "1"}).rows.sort == snapshot::SortBy::Retained);
  CHECK(good({"--sizes", "--sort", "bytes", "1"}).rows.sort == snapshot::SortBy::Bytes);
  CHECK(good({"--sizes", "--top", "3", "-f", "csv", "1"}).rows.top == 3);
}

TEST_CASE("counts can be grouped by the holders of buffers") {
  CHECK(good({"--count", "1"}).by == snapshot::CountBy::Type);
  CHECK(good({"--count", "--by", "holder", "1"}).by == snapshot::CountBy::Holder);
  CHECK(wrong({"--count", "--by", "size", "1"}).find("holder") != std::string::npos);
  CHECK(wrong({"--by", "holder", "1"}).find("--count") != std::string::npos);
}

TEST_CASE("help fits a terminal") {
  const auto shown = [](std::initializer_list<const char*> arguments) {
    return std::get<ShowText>(parse(arguments)).text;
  };
  CHECK(std::ranges::count(shown({"-h"}), '\n') <= 24);
  for (const std::string& text : {shown({"-h"}), shown({"--help", "all"})}) {
    std::size_t column = 0;
    for (const char letter : text) {
      column = letter == '\n' ? 0 : column + 1;
      CHECK(column <= 80);
    }
  }
}

TEST_CASE("what cannot be redacted is refused with --redact") {
  CHECK(good({"--redact", "full", "1"}).redact);
  CHECK(good({"--redact", "full", "--sizes", "heap.jsonl"}).redact);
  CHECK_FALSE(good({"1"}).redact);
  wrong({"--redact", "some", "1"});
  for (const char* other : {"--values", "--strings", "--stacks", "--check"}) {
    CHECK(wrong({"--redact", "full", other, "1"}).find("hide") != std::string::npos);
  }
  CHECK(wrong({"--redact", "full", "-f", "gcgrph", "1"}).find("hide") != std::string::npos);
  wrong({"--redact", "full", "--call", "f()", "1"});
  CHECK(wrong({"--redact", "full", "--find", "A[b == 1]", "1"}).find("hide") != std::string::npos);
  CHECK(good({"--redact", "full", "--find", "A[b == nil]", "1"}).redact);
}

TEST_CASE("a snapshot has the formats of other tools, by name or by its file's extension") {
  for (const Format* const format : formats_with(writes<&Format::snapshot>)) {
    const Options named = good({"--values", "1", "-f", format->name.data()});
    CHECK(named.format == format);
    const std::string file = "a.b/x." + std::string(format->extensions) + ".gz";
    CHECK(good({"--values", "1", "-o", file.c_str()}).format == format);
  }
  CHECK(good({"1", "-o", "x.svg", "-f", "jsonl"}).format->name == "jsonl");
  CHECK(good({"1", "-o", "x.pb.gz"}).with_gzip);
  CHECK(wrong({"1", "-f", "pprf"}).find("jsonl, html, heapsnapshot") != std::string::npos);
  CHECK(wrong({"--count", "1", "-f", "pprof"}).find("table") != std::string::npos);
  CHECK(wrong({"--count", "1", "-o", "x.svg"}).find(".svg") != std::string::npos);
}

TEST_CASE("--check is a separate report, with its own formats") {
  CHECK(good({"--check", "1"}).report == Report::Check);
  CHECK(good({"--check", "1"}).format->name == "table");
  CHECK(good({"--check", "1", "-f", "json"}).format->name == "json");
  CHECK(wrong({"--check", "1", "-f", "csv"}).find("table, json") != std::string::npos);
  CHECK(wrong({"--check", "--count", "1"}).find("one report") != std::string::npos);
  CHECK(wrong({"--check", "--top", "3", "1"}).find("--top is not for --check") !=
        std::string::npos);
  CHECK(wrong({"--check", "--fail-if", "count(A) > 1", "1"}).find("--fail-if") !=
        std::string::npos);
}

TEST_CASE("a difference takes two or three sources in their order") {
  const Options options = good({"--diff", "a.jsonl", "4711", "c.jsonl.gz", "--by", "holder"});
  CHECK(options.report == Report::Diff);
  REQUIRE(options.compared.size() == 3);
  CHECK(options.compared[0].file == "a.jsonl");
  CHECK(options.compared[1].pid == 4711);
  CHECK(options.format->name == "table");
  CHECK(good({"--diff", "a", "b", "-o", "x.json.gz"}).format->name == "json");
  CHECK(good({"--diff", "a", "b", "-o", "x.html"}).format->name == "html");
  CHECK(needs_edges(good({"--diff", "a", "b", "-f", "html"})));
  CHECK(good({"--diff", "a", "b", "--fail-if", "growth(*) > 0"}).fail_if.size() == 1);
  wrong({"--diff", "a"});
  wrong({"--diff", "a", "b", "c", "d"});
  wrong({"--diff", "a", "b", "--max-pause", "5"});
  wrong({"--diff", "a", "b", "-f", "csv"});
  CHECK(good({"--diff", "a", "b"}).rows.sort == snapshot::SortBy::Retained);
  wrong({"--count", "1", "--sort", "retained"});
  wrong({"--diff", "--count", "a", "b"});
  wrong({"--diff", "a", "b", "--fail-if", "retained(*) > 0"});
  wrong({"--count", "1", "--fail-if", "growth(*) > 0"});
}

TEST_CASE("a watch has an interval and rounds") {
  const Options options = good({"--watch", "500ms", "--rounds", "3", "4711"});
  CHECK(options.report == Report::Watch);
  CHECK(options.interval == std::chrono::milliseconds(500));
  CHECK(options.rounds == 3);
  CHECK(good({"--watch", "10", "1"}).interval == std::chrono::seconds(10));
  CHECK(good({"--watch", "1.5m", "1"}).interval == std::chrono::seconds(90));
  wrong({"--watch", "0", "1"});
  wrong({"--watch", "s", "1"});
  wrong({"--watch", "10x", "1"});
  wrong({"--watch", "10", "--rounds", "0", "1"});
  wrong({"--rounds", "3", "1"});
  wrong({"--watch", "10", "a.jsonl"});
}

TEST_CASE("strings are shown in part, from processes and files") {
  CHECK(good({"--strings", "4711"}).report == Report::Strings);
  CHECK(good({"--strings", "a.jsonl", "--values=20", "--top", "3"}).value_bytes == 20);
  wrong({"--strings", "1", "--type", "String"});
  wrong({"--strings", "1", "--by", "holder"});
  wrong({"--strings", "1", "--fail-if", "count(String) > 1"});
}

TEST_CASE("retained sizes need edges") {
  CHECK(needs_edges(good({"--sizes", "1"})));
  CHECK(needs_edges(good({"--sizes", "0x10", "1"})));
  CHECK(needs_edges(good({"--why", "Foo", "1"})));
  CHECK(needs_edges(good({"--graph", "Foo", "1"})));
  CHECK(needs_edges(good({"--suspects", "1"})));
  CHECK(needs_edges(good({"--diff", "a", "b"})));
  CHECK(needs_edges(good({"--watch", "1", "4711"})));
  CHECK_FALSE(needs_edges(good({"--count", "1"})));
  CHECK_FALSE(needs_objects(good({"--count", "1"})));
  CHECK_FALSE(needs_objects(good({"--summary", "1"})));
  CHECK(needs_objects(good({"--count", "1", "--fail-if", "retained(Foo) > 1M"})));
  CHECK(needs_objects(good({"--strings", "1"})));
  CHECK(needs_objects(good({"--trace", "1"})));
  CHECK(needs_objects(good({"1"})));
  CHECK(needs_edges(good({"--count", "1", "--fail-if", "retained(Foo) > 1M"})));
}

TEST_CASE("what follows -- is a program to start and trace, and for other reports a source") {
  const Options started = good({"trace", "--every", "1", "--", "./app", "--port", "3000", "-q"});
  CHECK(started.trace.command == std::vector<std::string>{"./app", "--port", "3000", "-q"});
  CHECK(started.trace.length.count() == 0);
  CHECK(started.pid == 0);
  CHECK(started.file.empty());
  CHECK(good({"--trace", "--for", "5s", "--", "./app"}).trace.length == std::chrono::seconds(5));
  CHECK(wrong({"trace", "4711", "--", "./app"}).find("one of these") != std::string::npos);
  CHECK(wrong({"trace", "--"}).find("no process and no file given") != std::string::npos);
  CHECK(good({"--count", "--", "-odd.jsonl"}).file == "-odd.jsonl");
  CHECK(good({"--", "4711"}).pid == 4711);
}

TEST_CASE("--live is for samples, and not with -q") {
  CHECK(good({"trace", "--live", "4711"}).trace.live);
  CHECK(wrong({"trace", "--live", "--every", "1", "4711"}).find("--every 64k") !=
        std::string::npos);
  CHECK(wrong({"trace", "--live", "-q", "4711"}).find("-q") != std::string::npos);
  CHECK(wrong({"count", "--live", "4711"}).find("--live is for") != std::string::npos);
}

}  // namespace heapattach
