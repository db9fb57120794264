// Each export is read by the program that it is made for, which must get the same counts as
// heapattach. The readers are in consumers/; they print objects, bytes and type.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/live_target.h"
#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using Rows = std::multimap<std::string, std::pair<std::uint64_t, std::uint64_t>>;

// Reads lines of objects, bytes, type and further fields, separated by tabs.
Rows rows_of(const std::string& text) {
  Rows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    std::string objects;
    std::string bytes;
    std::string type;
    std::getline(parts, objects, '\t');
    std::getline(parts, bytes, '\t');
    std::getline(parts, type, '\t');
    const bool is_number =
        !objects.empty() && std::all_of(objects.begin(), objects.end(), ::isdigit);
    if (is_number) rows.emplace(type, std::pair(std::stoull(objects), std::stoull(bytes)));
  }
  return rows;
}

// The rows that only one of the two tables has, one per line.
std::string difference(const Rows& found, const Rows& truth) {
  std::string text;
  for (const auto& [more, less, sign] :
       {std::tuple(&found, &truth, '+'), std::tuple(&truth, &found, '-')}) {
    for (const auto& row : *more) {
      const auto [first, last] = less->equal_range(row.first);
      const bool is_there = std::any_of(first, last, [&](const auto& one) { return one == row; });
      if (is_there) continue;
      text += fmt::format("{}{}\t{}\t{}\n", sign, row.second.first, row.second.second, row.first);
    }
  }
  return text;
}

bool is_there(const char* program, const char* package) {
  if (run_in_shell("command -v \"$1\"", {program}).status == 0) return true;
  print_skip(fmt::format("{} is not installed", package));
  return false;
}

// A service with generics and unions in its type names. All exports are made from one snapshot of
// it, so nothing may differ. It is built with debug information, for the names of fields.
constexpr const char* kService = "typed_service_debug";

class Exported {
 public:
  Exported() : target_(kService), pid_(fmt::format("{}", target_.pid())) {
    run({"-o", saved(), pid_});
    truth_ = rows_of(run({"--count", "-f", "tsv", saved()}));
    CHECK(truth_.size() > 10);
  }
  [[nodiscard]] const Rows& truth() const { return truth_; }
  [[nodiscard]] std::uint64_t all_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& row : truth_) bytes += row.second.second;
    return bytes;
  }
  [[nodiscard]] std::string saved() const { return directory_.file("heap.jsonl"); }
  [[nodiscard]] const std::string& pid() const { return pid_; }

  // Runs heapattach, and returns its standard output.
  static std::string run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "-q");
    const ToolRun run = run_tool(arguments);
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    return run.output;
  }
  std::string file(const std::string& name) {
    run({"-o", directory_.file(name), saved()});
    return directory_.file(name);
  }
  // Makes a file from the process itself, for data that a saved snapshot does not have.
  std::string live_file(const std::string& name) {
    run({"-o", directory_.file(name), pid_});
    return directory_.file(name);
  }
  // Runs a line of bash and reads its output. The file is $1; the other arguments follow.
  Rows read(const std::string& script, const std::vector<std::string>& arguments) {
    const ToolRun run = run_in_shell(script, arguments);
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    return rows_of(run.output);
  }
  // Checks that the reader's output is the truth. A release of the reader that was not tried may
  // print in another form.
  void check_read(const Release& reader,
                  const std::string& script,
                  const std::vector<std::string>& arguments) const {
    const ToolRun run = run_in_shell(script, arguments);
    CAPTURE(run.errors);
    if (!reader.is_tried && run.status == kOtherForm) return print_untried(reader, run.errors);
    CHECK(run.status == 0);
    CHECK(difference(rows_of(run.output), truth_) == "");
  }

 private:
  LiveTarget target_;
  std::string pid_;
  TemporaryDirectory directory_;
  Rows truth_;
};

bool is_missing() {
  if (is_target_built(kService)) return false;
  print_skip("no Crystal compiler");
  return true;
}

// The retained bytes of types with one object, according to --sizes.
std::map<std::string, std::string> retained_alone(const std::string& tsv) {
  std::map<std::string, std::string> retained;
  std::istringstream lines(tsv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    std::string objects;
    std::string bytes;
    std::string transitive;
    std::string own;
    std::string type;
    std::getline(parts, objects, '\t');
    std::getline(parts, bytes, '\t');
    std::getline(parts, transitive, '\t');
    std::getline(parts, own, '\t');
    std::getline(parts, type, '\t');
    if (objects == "1") retained.emplace(type, own);
  }
  return retained;
}

// Compares the retained bytes in a reader's lines (objects, bytes, type, retained) with the truth.
std::string retained_otherwise(const std::string& lines,
                               const std::map<std::string, std::string>& truth) {
  std::string text;
  std::size_t compared = 0;
  for (const auto& [type, bytes] : truth) {
    const std::size_t at = lines.find("\t" + type + "\t");
    if (at == std::string::npos) continue;
    const std::size_t from = at + type.size() + 2;
    const std::string found = lines.substr(from, lines.find('\n', from) - from);
    ++compared;
    if (found != bytes) text += fmt::format("{}: {} instead of {}\n", type, found, bytes);
  }
  CHECK(compared > 5);
  return text;
}

}  // namespace

TEST_CASE("go tool pprof shows the counts of each type under its whole name") {
  if (is_missing()) return;
  if (!is_there("go", "golang-go")) return;
  Exported heap;
  heap.check_read(release_of("go", {"go", "version"}, {"1.19"}), "python3 \"$2\" \"$1\"",
                  {heap.file("heap.pb.gz"), CONSUMERS "/pprof.py"});
}

TEST_CASE("a Perfetto trace has the counts of each type, the roots, and all stacks") {
  if (is_missing()) return;
  if (run_in_shell("/usr/bin/python3 -c 'import google.protobuf'", {}).status != 0) {
    print_skip("python3-protobuf is not installed");
    return;
  }
  Exported heap;
  const ToolRun run = run_in_shell("/usr/bin/python3 \"$2\" \"$1\"",
                                   {heap.file("heap.pftrace"), CONSUMERS "/perfetto.py"});
  CAPTURE(run.errors);
  REQUIRE(run.status == 0);
  const auto lines = [&](const std::string& kind) {
    return run_in_shell("printf %s \"$1\" | sed -n \"s/^$2\\t//p\"", {run.output, kind}).output;
  };
  CHECK(difference(rows_of(lines("type")), heap.truth()) == "");
  CHECK_MESSAGE(lines("root").find("5\t(static data") != std::string::npos, lines("root"));
  CHECK(lines("root").find("STORE") != std::string::npos);
  // The end of the line is the number of objects that no root reaches.
  const std::string sums = lines("heap");
  CHECK_MESSAGE(sums.find(fmt::format("\t{}\t0\n", heap.all_bytes())) != std::string::npos, sums);
  const ToolRun saved = run_in_shell(
      "grep -cE '^.\"record\":\"(thread|fiber)\".*\"(frames|same_frames_as)\":' \"$1\"",
      {heap.saved()});
  CHECK(run_in_shell("printf %s \"$1\" | grep -c .", {lines("stack")}).output == saved.output);
  CHECK(lines("stack").find("thread\ttarget_typed_se") != std::string::npos);
  CHECK(lines("stack").find("__crystal_main") != std::string::npos);
}

TEST_CASE("the viewer of valgrind's DHAT builds a tree of the counts of each type") {
  if (is_missing()) return;
  if (!is_there("node", "nodejs")) return;
  const char* const viewer = "/usr/libexec/valgrind/dh_view.js";
  if (::access(viewer, R_OK) != 0) {
    print_skip("valgrind is not installed");
    return;
  }
  Exported heap;
  heap.check_read(release_of("valgrind", {"valgrind", "--version"}, {"3.19"}),
                  "node \"$2\" \"$3\" \"$1\"",
                  {heap.file("heap.dhat"), CONSUMERS "/dhat.js", viewer});
}

TEST_CASE("flamegraph.pl draws all bytes of a folded export") {
  const char* const reader = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
  if (::access(reader, R_OK) != 0) {
    print_skip("libdevel-nytprof-perl is not installed");
    return;
  }
  if (is_missing()) return;
  Exported heap;
  // Takes the figures of the root frame as the program draws them, without the commas.
  const ToolRun run = run_in_shell(
      "perl \"$2\" --countname bytes \"$1\" | tr -d , | grep -o '<title>all ([0-9]* bytes'",
      {heap.file("heap.folded"), reader});
  CHECK(run.output == fmt::format("<title>all ({} bytes\n", heap.all_bytes()));
}

TEST_CASE("a flame graph in SVG is well-formed and shows all bytes") {
  if (is_missing()) return;
  Exported heap;
  const ToolRun run = run_in_shell(
      "python3 -c 'import sys, xml.etree.ElementTree as tree; "
      "print(next(t.text for t in tree.parse(sys.argv[1]).iter() if t.tag.endswith(\"title\") "
      "and t.text.startswith(\"all:\")))' \"$1\"",
      {heap.file("heap.svg")});
  CHECK(run.output.starts_with(fmt::format("all: {} bytes retained (100.0%)", heap.all_bytes())));
}

// A type whose path to the root is one field of a global variable, and how it is shown.
constexpr const char* kInventory = "Hash(String, Int32)";

TEST_CASE("DevTools shows the counts, sizes and paths to the root that heapattach shows") {
  const char* const modules = std::getenv("HEAPATTACH_NPM");
  if (!is_long_run() || modules == nullptr) return;  // integration/check.sh --long sets it
  if (is_missing() || !is_there("node", "nodejs")) return;
  Exported heap;
  const ToolRun run =
      run_in_shell("node --require \"$3/newer_node.cjs\" \"$3/devtools.mjs\" \"$2\" \"$1\" \"$4\"",
                   {heap.file("heap.heapsnapshot"), modules, CONSUMERS, kInventory});
  CAPTURE(run.errors);
  CAPTURE(run.output);
  CHECK(difference(rows_of(run.output), heap.truth()) == "");
  const auto sizes = retained_alone(Exported::run({"--sizes", "-f", "tsv", heap.saved()}));
  CHECK(retained_otherwise(run.output, sizes) == "");
  // A stack references the global's object, too, in as many steps.
  CHECK(run.output.find("via\t@inventory\tStore\nvia\t") != std::string::npos);
  CHECK(run.output.find("\t(GC roots)\n") != std::string::npos);
}

TEST_CASE("memlab shows the counts, sizes and paths to the root that heapattach shows") {
  const char* const modules = std::getenv("HEAPATTACH_NPM");
  if (!is_long_run() || modules == nullptr) return;  // integration/check.sh --long sets it
  if (is_missing() || !is_there("node", "nodejs")) return;
  Exported heap;
  const ToolRun run =
      run_in_shell("node \"$3/memlab.cjs\" \"$2\" \"$1\" \"$4\"",
                   {heap.file("heap.heapsnapshot"), modules, CONSUMERS, kInventory});
  CAPTURE(run.errors);
  CAPTURE(run.output);
  CHECK(difference(rows_of(run.output), heap.truth()) == "");
  const auto sizes = retained_alone(Exported::run({"--sizes", "-f", "tsv", heap.saved()}));
  CHECK(retained_otherwise(run.output, sizes) == "");
  const std::string why = Exported::run({"--why", kInventory, "-f", "json", heap.saved()});
  CAPTURE(why);
  CHECK(why.find("\"summary\":\"global STORE of target_typed_service_debug → @inventory\"") !=
        std::string::npos);
  CHECK(run.output.find("via\t@inventory\tStore\nvia\t") != std::string::npos);
}

TEST_CASE("heapy finds all objects and bytes in Ruby's lines") {
  if (!is_long_run()) return;
  if (is_missing() || !is_there("heapy", "ruby-heapy")) return;
  Exported heap;
  const TemporaryDirectory directory;
  write_text(directory.file("empty"), "");
  Exported::run({"-f", "ruby", "-o", directory.file("heap"), heap.saved()});
  const ToolRun run =
      run_in_shell("heapy diff \"$1\" \"$2\"", {directory.file("empty"), directory.file("heap")});
  CAPTURE(run.errors);
  std::uint64_t objects = 0;
  for (const auto& row : heap.truth()) objects += row.second.first;
  CHECK(run.output.find(fmt::format("Allocated OBJECT {} objects of size {}/", objects,
                                    heap.all_bytes())) != std::string::npos);
}

TEST_CASE("VisualVM's reader of heap dumps counts each type") {
  const std::string jars = "/usr/share/visualvm/visualvm/modules";
  if (!is_long_run()) return;
  if (::access(jars.c_str(), R_OK) != 0) {
    print_skip("visualvm is not installed");
    return;
  }
  if (is_missing()) return;
  Exported heap;
  const Rows found = heap.read("java -cp \"$2/*:/usr/share/visualvm/platform/lib/*\" \"$3\" \"$1\"",
                               {heap.live_file("heap.hprof"), jars, CONSUMERS "/Hprof.java"});
  std::map<std::string, std::uint64_t> objects;  // a name may have several rows
  for (const auto& [type, counts] : heap.truth()) objects[type] += counts.first;
  for (const auto& [type, counts] : found) objects[type] -= counts.first;
  for (const auto& left : objects) {
    CAPTURE(left.first);
    CHECK(left.second == 0);
  }
}

}  // namespace heapattach
