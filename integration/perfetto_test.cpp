// Perfetto traces of more than one heap: several snapshots in one file, and recordings. An
// independent decoder, consumers/perfetto.py, reads them. (export_test.cpp tests a single heap.)

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr const char* kSaved = CONSUMERS "/../data/heap.jsonl";
constexpr const char* kTrace = CONSUMERS "/../data/trace.jsonl";

bool has_decoder() {
  if (run_in_shell("/usr/bin/python3 -c 'import google.protobuf'", {}).status == 0) return true;
  print_skip("python3-protobuf is not installed");
  return false;
}

// The lines of one kind that the decoder prints.
std::string decoded(const std::string& file, const std::string& kind) {
  const ToolRun run =
      run_in_shell("set -o pipefail; /usr/bin/python3 \"$2\" \"$1\" | sed -n \"s/^$3\\t//p\"",
                   {file, CONSUMERS "/perfetto.py", kind});
  CAPTURE(run.errors);
  CHECK(run.status == 0);
  return run.output;
}

}  // namespace

TEST_CASE("several snapshots in one Perfetto trace are a timeline") {
  if (!has_decoder()) return;
  const TemporaryDirectory directory;
  const std::string later = directory.file("later.jsonl");
  // The second snapshot is ten minutes later, and lacks the last objects.
  run_in_shell(
      "sed -e '1s/T11:34:07.215/T11:44:07.215/' -e '/\"Shop::Cart\",\"bytes\"/d' "
      "-e 's/,\"@cart\":\"[^\"]*\"//' -e "
      "'s/\"objects\":36,\"bytes\":1584/\"objects\":28,\"bytes\":1200/' "
      "\"$1\" >\"$2\"",
      {kSaved, later});
  const std::string file = directory.file("both.pftrace");
  const ToolRun run = run_tool({"merge", "-q", "-o", file, kSaved, later});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  const std::string heaps = decoded(file, "heap");
  CHECK(heaps ==
        "1795174447215000000\t5300\t36\t1584\t0\n1795175047215000000\t5300\t28\t1200\t0\n");
  const std::string types = decoded(file, "type");
  CHECK_MESSAGE(types.find("12\t576\tShop::Session\n") != std::string::npos, types);
  CHECK(decoded(file, "root").find("5\t(static data)\tShop::STORE\n") != std::string::npos);
  // A compressed file has both snapshots, too.
  const std::string packed = directory.file("both.pftrace.gz");
  REQUIRE(run_tool({"merge", "-q", "-o", packed, kSaved, later}).status == 0);
  CHECK(run_in_shell("zcat \"$1\" | cmp - \"$2\"", {packed, file}).status == 0);
}

TEST_CASE("a timeline is not written if a snapshot is missing from it") {
  const TemporaryDirectory directory;
  const std::string cut = directory.file("cut.jsonl");
  run_in_shell("head -c 3000 \"$1\" >\"$2\"", {kSaved, cut});
  const std::string file = directory.file("both.pftrace");
  const ToolRun run = run_tool({"merge", "-q", "-o", file, kSaved, cut});
  CHECK(run.status != 0);
  CHECK_MESSAGE(run.errors.find("cut.jsonl is partial") != std::string::npos, run.errors);
  CHECK(directory.list() == std::vector<std::string>{"cut.jsonl"});
}

TEST_CASE("a recording in a Perfetto trace has what each stack had allocated, over time") {
  if (!has_decoder()) return;
  const TemporaryDirectory directory;
  const std::string file = directory.file("trace.pftrace");
  REQUIRE(run_tool({"trace", "-q", "-o", file, kTrace}).status == 0);
  const std::string dumps = decoded(file, "dump");
  // Everything was allocated in the first of 50 steps; 2 of 5 objects and 248 of 428 bytes are
  // left.
  CHECK(run_in_shell("printf %s \"$1\" | cut -f2- | sort -u", {dumps}).output ==
        "5\t428\t3\t180\n");
  CHECK(run_in_shell("printf %s \"$1\" | grep -c .", {dumps}).output == "50\n");
  CHECK(dumps.starts_with("1767323045758000000\t"));
  const std::string sites =
      run_in_shell("printf %s \"$1\" | sort -u", {decoded(file, "site")}).output;
  CHECK(sites ==
        "1\t100\t1\t100\tGC::malloc;GC_malloc_kind\n"
        "1\t200\t0\t0\t(truncated);Shop#login(User | Nil)\n"
        "3\t128\t2\t80\tShop#serve;Shop#login(User | Nil)\n");
}

}  // namespace heapattach
