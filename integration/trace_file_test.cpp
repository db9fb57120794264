// A saved trace with known sums, in every format. The program for which a format is made reads it.

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

const std::string kTrace = CONSUMERS "/../data/trace.jsonl";

// The trace, converted to a file whose name determines the format.
class Exported {
 public:
  explicit Exported(const std::string& name, const std::vector<std::string>& more = {})
      : file(directory_.file(name)) {
    std::vector<std::string> arguments{"-q", "trace", "-o", file, kTrace};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ToolRun run = run_tool(arguments);
    INFO(run.errors);
    REQUIRE(run.status == 0);
  }

 private:
  TemporaryDirectory directory_;

 public:
  std::string file;
};

bool is_there(const char* program, const char* package) {
  if (run_in_shell("command -v \"$1\"", {program}).status == 0) return true;
  print_skip(fmt::format("{} is not installed", package));
  return false;
}

std::string output_of(const std::string& script, const std::vector<std::string>& arguments) {
  const ToolRun run = run_in_shell(script, arguments);
  INFO(run.errors);
  CHECK(run.status == 0);
  return run.output;
}

}  // namespace

TEST_CASE("a saved trace is read and written again with the same bytes, packed or not") {
  CHECK(run_tool({"-q", "--trace", "-f", "jsonl", kTrace}).output == read_text(kTrace));
  const Exported packed("trace.jsonl.gz");
  CHECK(run_tool({"-q", "trace", "-f", "jsonl", packed.file}).output == read_text(kTrace));
  CHECK(output_of("\"$0\" -q trace -f jsonl - <\"$1\"", {kTrace}) == read_text(kTrace));
}

TEST_CASE("a trace that is cut short is shown as far as it goes, with status 7") {
  const TemporaryDirectory directory;
  const std::string text = read_text(kTrace);
  write_text(directory.file("cut.jsonl"), text.substr(0, text.find("\"old_address\"")));
  const ToolRun run = run_tool({"trace", "--by", "type", directory.file("cut.jsonl")});
  CHECK(run.status == 7);
  CHECK(run.output.find("228") != std::string::npos);
  CHECK(run.output.find("partial: the file ends early, at line 23") != std::string::npos);
}

TEST_CASE("a file that is not a trace is refused by name") {
  const ToolRun snapshot = run_tool({"trace", CONSUMERS "/../data/heap.jsonl"});
  CHECK(snapshot.status == 1);
  CHECK(snapshot.errors.find("is not a trace") != std::string::npos);
  const ToolRun trace = run_tool({"--count", kTrace});
  CHECK(trace.status == 1);
  CHECK(trace.errors.find("is not a snapshot") != std::string::npos);
  CHECK(trace.errors.find("try: heapattach trace FILE") != std::string::npos);
  CHECK(run_tool({"trace", "/bin/true"}).status == 1);
}

TEST_CASE("go tool pprof shows the four values of a trace, and its tags") {
  if (!is_there("go", "golang-go")) return;
  const Exported profile("trace.pb.gz");
  const Release go = release_of("go", {"go", "version"}, {"1.19"});
  const ToolRun viewed = run_in_shell("set -o pipefail; python3 \"$2\" \"$1\" | LC_ALL=C sort",
                                      {profile.file, CONSUMERS "/trace_pprof.py"});
  if (!go.is_tried && viewed.status == kOtherForm) return print_untried(go, viewed.errors);
  INFO(viewed.errors);
  CHECK(viewed.status == 0);
  CHECK(viewed.output ==
        R"(alloc_objects	0	1	(truncated)
alloc_objects	0	1	GC::malloc
alloc_objects	0	3	Shop#serve
alloc_objects	1	1	GC_malloc_kind
alloc_objects	4	4	Shop#login(User | Nil)
alloc_space	0	100	GC::malloc
alloc_space	0	128	Shop#serve
alloc_space	0	200	(truncated)
alloc_space	100	100	GC_malloc_kind
alloc_space	328	328	Shop#login(User | Nil)
fiber	128	fiber main 0x7f1000
inuse_objects	0	1	(truncated)
inuse_objects	0	1	Shop#serve
inuse_objects	2	2	Shop#login(User | Nil)
inuse_space	0	200	(truncated)
inuse_space	0	48	Shop#serve
inuse_space	248	248	Shop#login(User | Nil)
thread	128	thread 4711 shop
thread	300	thread 4712 worker
type	300	(unknown)
type	32	Hash(String, Shop::Cart | Nil)
type	96	Shop::Session
)");
}

TEST_CASE("flamegraph.pl draws all bytes of a trace") {
  const char* const reader = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
  if (::access(reader, R_OK) != 0) {
    print_skip("libdevel-nytprof-perl is not installed");
    return;
  }
  const Exported folded("trace.folded", {"--value", "inuse_space"});
  CHECK(output_of("perl \"$2\" --countname bytes \"$1\" | grep -o '<title>all ([0-9]* bytes'",
                  {folded.file, reader}) == "<title>all (248 bytes\n");
}

TEST_CASE("a flame graph of a trace is well-formed and shows all objects") {
  const Exported svg("trace.svg", {"--value", "alloc_objects"});
  CHECK(
      output_of(
          "python3 -c 'import sys, xml.etree.ElementTree as tree; "
          "print(next(t.text for t in tree.parse(sys.argv[1]).iter() if t.tag.endswith(\"title\") "
          "and t.text.startswith(\"all:\")))' \"$1\"",
          {svg.file})
          .starts_with("all: 5 objects allocated (100.0%)"));
}

TEST_CASE("the viewer of valgrind's DHAT builds a tree of a trace") {
  if (!is_there("node", "nodejs")) return;
  const char* const viewer = "/usr/libexec/valgrind/dh_view.js";
  if (::access(viewer, R_OK) != 0) {
    print_skip("valgrind is not installed");
    return;
  }
  const Exported dhat("trace.dhat");
  CHECK(output_of("node \"$2\" \"$3\" \"$1\" | LC_ALL=C sort",
                  {dhat.file, CONSUMERS "/dhat.js", viewer}) ==
        "1\t100\tGC_malloc_kind\n"
        "1\t200\tShop#login(User | Nil) (shop.cr:12)\n"
        "1\t32\tHash(String, Shop::Cart | Nil)\n"
        "2\t96\tShop::Session\n");
}

TEST_CASE("jq reads the lines of a trace, its table, speedscope's file and Alys's") {
  if (!is_there("jq", "jq")) return;
  CHECK(output_of("jq -rn '[inputs | select(.record == \"alloc\")] | map(.bytes) | add' \"$1\"",
                  {kTrace}) == "228\n");
  CHECK(output_of("\"$0\" -q trace --by type -f json \"$1\" | jq -c '[.total.bytes, "
                  "(.rows | map(.in_use_bytes) | add), .rows[1].type]'",
                  {kTrace}) == "[428,248,\"Shop::Session\"]\n");
  CHECK(output_of("\"$0\" -q trace -f speedscope \"$1\" | jq -c '[.profiles[] | [.name, .endValue, "
                  "(.weights | add), (.samples | length)]]'",
                  {kTrace}) ==
        "[[\"alloc_objects\",5,5,4],[\"alloc_space\",428,428,4],[\"inuse_objects\",2,2,2],"
        "[\"inuse_space\",248,248,2]]\n");
  CHECK(output_of("\"$0\" -q trace -f alys \"$1\" | jq -c 'group_by(.id) | map([.[].kind])'",
                  {kTrace}) ==
        "[[\"alloc\",\"free\"],[\"alloc\",\"free\"],[\"alloc\",\"realloc\",\"realloc\"],"
        "[\"alloc\"]]\n");
}

}  // namespace heapattach
