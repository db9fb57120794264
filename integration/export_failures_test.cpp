// Outputs that cannot be written, and sources that end early, in every format: the exit status
// shows which of the two happened, and the requested file is either complete or absent.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

// A process, a snapshot of it, and a dump of all bytes for the formats that need bytes.
class Sources {
 public:
  Sources() : target_("still", {"500"}) {
    pid_ = fmt::format("{}", target_.pid());
    save({"-o", saved()});
    save({"--values", "-o", dumped()});
  }
  ~Sources() { CHECK(harm_done_to(target_.pid()) == ""); }
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  [[nodiscard]] std::string saved() const { return directory_.file("heap.jsonl"); }
  [[nodiscard]] std::string dumped() const { return directory_.file("heap.gcfull"); }
  // Each format, with the file from which it is made.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> formats() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const char* name : {"jsonl", "heapsnapshot", "pprof", "folded", "svg", "dhat", "ruby"}) {
      all.emplace_back(name, saved());
    }
    for (const char* name : {"gcgrph", "gcfull", "hprof"}) all.emplace_back(name, dumped());
    return all;
  }

 private:
  void save(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-q", pid_});
    const ToolRun run = run_tool(arguments);
    REQUIRE_MESSAGE(run.status == 0, run.errors);
  }

  LiveTarget target_;
  std::string pid_;
  TemporaryDirectory directory_;
};

bool is_missing() {
  if (is_target_built("still")) return false;
  print_skip("the collector's library is not installed");
  return true;
}

}  // namespace

TEST_CASE("whatever the format, an output that cannot be written is status 8, and leaves no file") {
  if (is_missing()) return;
  const Sources sources;
  const TemporaryDirectory directory;
  const std::pair<const char*, const char*> ways[] = {
      {"full", "exec \"$0\" -q -f \"$1\" \"$2\" >/dev/full"},
      {"closed", "exec \"$0\" -q -f \"$1\" \"$2\" >&-"},
      {"unwritable", "exec \"$0\" -q -f \"$1\" -o \"$3/none/heap\" \"$2\""},
      // A file may not grow at all.
      {"short of room",
       "trap '' XFSZ; ulimit -f 0; exec \"$0\" -q -f \"$1\" -o \"$3/heap\" \"$2\""},
  };
  for (const auto& one : sources.formats()) {
    const std::string& format = one.first;
    const std::string& source = one.second;
    for (const auto& way : ways) {
      const std::string what = way.first;
      const std::string script = way.second;
      const ToolRun run = run_in_shell(script, {format, source, directory.path()});
      INFO(format << ", " << what << ": " << run.errors);
      CHECK(run.status == 8);
      CHECK_FALSE(run.errors.empty());
      CHECK(directory.list().empty());
    }
  }
}

TEST_CASE("whatever the format, a reader that goes away ends the writing in silence") {
  if (is_missing()) return;
  const Sources sources;
  for (const auto& one : sources.formats()) {
    const std::string& format = one.first;
    const std::string& source = one.second;
    const ToolRun run =
        run_in_shell("set -o pipefail; \"$0\" -q -f \"$1\" \"$2\" | true", {format, source});
    INFO(format << ": " << run.errors);
    CHECK(run.status == 0);
    CHECK(run.errors.empty());
  }
}

TEST_CASE("a source that ends early gives what came before, and status 7") {
  if (is_missing()) return;
  const Sources sources;
  const TemporaryDirectory directory;
  const std::string lines = directory.file("cut.jsonl");
  const std::string dump = directory.file("cut.gcfull");
  const std::string whole = read_text(sources.saved());
  const std::string bytes = read_text(sources.dumped());
  write_text(lines, whole.substr(0, whole.size() - whole.size() / 4));
  write_text(dump, bytes.substr(0, bytes.size() - bytes.size() / 4));
  for (const auto& one : sources.formats()) {
    const std::string& format = one.first;
    const std::string& source = one.second;
    const std::string cut = source == sources.saved() ? lines : dump;
    const std::string file = directory.file("heap." + format);
    const ToolRun run = run_tool({"-q", "-f", format, "-o", file, cut});
    INFO(format << ": " << run.errors);
    CHECK(run.status == 7);
    const std::size_t written = read_text(file).size();
    CHECK(written > 0);
  }
  // A packed file that is cut has no valid end: everything before the cut is reported as well.
  const std::string packed = directory.file("cut.jsonl.gz");
  const ToolRun pack =
      run_in_shell("gzip -c \"$1\" | head -c 2000 >\"$2\"", {sources.saved(), packed});
  CHECK(pack.status == 0);
  const ToolRun run = run_tool({"-q", "-f", "folded", "-o", directory.file("x.folded"), packed});
  INFO(run.errors);
  CHECK((run.status == 7 || run.status == 1));
  CHECK((run.status == 7) != read_text(directory.file("x.folded")).empty());
}

}  // namespace heapattach
