// Each export is read by the program that it is made for, which must come to the counts that
// heapattach comes to. The readers stand in consumers/; they print objects, bytes and type.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using Rows = std::multimap<std::string, std::pair<std::uint64_t, std::uint64_t>>;

// Lines of objects, bytes, type and whatever else, with tabs between them.
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

// What of the one is not in the other, a line each.
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

// A program that stands still, with templates in the names of its types.
class Exported {
 public:
  Exported() : target_("typed_cxx_gcc5"), source_(fmt::format("{}", target_.pid())) {
    const ToolRun run = run_tool({"-q", "--count", "-f", "tsv", source_});
    CHECK(run.status == 0);
    truth_ = rows_of(run.output);
    CHECK(truth_.size() > 10);
  }
  [[nodiscard]] const Rows& truth() const { return truth_; }

  std::string file(const std::string& name) {
    std::string path = directory_.file(name);
    const ToolRun run = run_tool({"-q", "-o", path, source_});
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    return path;
  }
  // What a line of bash makes of the file, which is its $1; the others follow.
  Rows read(const std::string& script, std::vector<std::string> arguments) {
    const ToolRun run = run_in_shell(script, arguments);
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    return rows_of(run.output);
  }

 private:
  LiveTarget target_;
  std::string source_;
  TemporaryDirectory directory_;
  Rows truth_;
};

}  // namespace

TEST_CASE("go tool pprof shows the counts of each type under its whole name") {
  if (!is_there("go", "golang-go")) return;
  Exported heap;
  const Rows found =
      heap.read("python3 \"$2\" \"$1\"", {heap.file("heap.pb.gz"), CONSUMERS "/pprof.py"});
  CHECK(difference(found, heap.truth()) == "");
}

TEST_CASE("the viewer of valgrind's DHAT builds a tree of the counts of each type") {
  if (!is_there("node", "nodejs")) return;
  const char* const viewer = "/usr/libexec/valgrind/dh_view.js";
  if (::access(viewer, R_OK) != 0) {
    print_skip("valgrind is not installed");
    return;
  }
  Exported heap;
  const Rows found = heap.read("node \"$2\" \"$3\" \"$1\"",
                               {heap.file("heap.dhat"), CONSUMERS "/dhat.js", viewer});
  CHECK(difference(found, heap.truth()) == "");
}

TEST_CASE("flamegraph.pl draws all bytes of a folded export") {
  const char* const reader = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
  if (::access(reader, R_OK) != 0) {
    print_skip("libdevel-nytprof-perl is not installed");
    return;
  }
  Exported heap;
  std::uint64_t bytes = 0;
  for (const auto& row : heap.truth()) bytes += row.second.second;
  // As it draws them: the figures of the frame for all, without the commas.
  const ToolRun run = run_in_shell(
      "perl \"$2\" --countname bytes \"$1\" | tr -d , | grep -o '<title>all ([0-9]* bytes'",
      {heap.file("heap.folded"), reader});
  CHECK(run.output == fmt::format("<title>all ({} bytes\n", bytes));
}

TEST_CASE("a flame graph in SVG is well-formed and shows all bytes") {
  Exported heap;
  const ToolRun run = run_in_shell(
      "python3 -c 'import sys, xml.etree.ElementTree as tree; "
      "print(next(t.text for t in tree.parse(sys.argv[1]).iter() if t.tag.endswith(\"title\") "
      "and t.text.startswith(\"all:\")))' \"$1\"",
      {heap.file("heap.svg")});
  std::uint64_t bytes = 0;
  for (const auto& row : heap.truth()) bytes += row.second.second;
  CHECK(run.output.starts_with(fmt::format("all: {} bytes retained (100.0%)", bytes)));
}

TEST_CASE("DevTools counts, sizes and leads back to the root as heapattach does") {
  const char* const modules = std::getenv("HEAPATTACH_NPM");
  if (!is_long_run() || modules == nullptr) return;  // integration/check.sh --long sets it
  if (!is_there("node", "nodejs")) return;
  Exported heap;
  const ToolRun run = run_in_shell(
      "node --require \"$3/newer_node.cjs\" \"$3/devtools.mjs\" \"$2\" \"$1\" shop::Square",
      {heap.file("heap.heapsnapshot"), modules, CONSUMERS});
  CAPTURE(run.errors);
  CHECK(difference(rows_of(run.output), heap.truth()) == "");
  CHECK(run.output.find("\t(GC roots)\n") != std::string::npos);
}

TEST_CASE("VisualVM's reader of heap dumps counts each type") {
  const std::string jars = "/usr/share/visualvm/visualvm/modules";
  if (!is_long_run()) return;
  if (::access(jars.c_str(), R_OK) != 0) {
    print_skip("visualvm is not installed");
    return;
  }
  Exported heap;
  const Rows found = heap.read("java -cp \"$2/*:/usr/share/visualvm/platform/lib/*\" \"$3\" \"$1\"",
                               {heap.file("heap.hprof"), jars, CONSUMERS "/Hprof.java"});
  std::map<std::string, std::uint64_t> objects;  // it has one name for those of several forms
  for (const auto& [type, counts] : heap.truth()) objects[type] += counts.first;
  for (const auto& [type, counts] : found) objects[type] -= counts.first;
  for (const auto& [type, left] : objects) {
    CAPTURE(type);
    CHECK(left == 0);
  }
}

TEST_CASE("an export that cannot be written leaves nothing behind and says why") {
  LiveTarget target("still");
  const std::string pid = fmt::format("{}", target.pid());
  for (const char* format : {"heapsnapshot", "pprof", "svg"}) {
    CAPTURE(format);
    const ToolRun full = run_in_shell("exec \"$0\" -q -f \"$2\" \"$1\" >/dev/full", {pid, format});
    CHECK(full.status == 8);
    CHECK(full.errors.find("No space") != std::string::npos);
  }
  const TemporaryDirectory directory;
  const ToolRun late = run_tool({"-q", "-o", directory.file("x/heap.svg"), pid});
  CHECK(late.status == 8);
  CHECK(directory.list().empty());
  CHECK(target.child().is_running());
}

}  // namespace heapattach
