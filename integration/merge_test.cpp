// One table of many snapshots has the same counts as each snapshot alone, and needs the memory of
// only one.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/live_target.h"
#include "integration/measured_run.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A snapshot with this many objects of two types, as heapattach would save it.
std::string made_snapshot(std::size_t sessions, std::size_t strings) {
  std::string text =
      "{\"record\":\"snapshot\",\"version\":1,\"pid\":4711,\"host\":\"web\",\"collector\":{"
      "\"name\":"
      "\"bdwgc\"},\"live_only\":true}\n{\"record\":\"type\",\"name\":\"Session\"}\n"
      "{\"record\":\"type\",\"name\":\"String\"}\n";
  std::size_t bytes = 0;
  std::size_t address = 0x7f0000000000;
  const auto add = [&](std::string_view type, std::size_t count, std::size_t size) {
    for (std::size_t i = 0; i < count; ++i) {
      text += fmt::format(
          "{{\"record\":\"object\",\"address\":\"0x{:x}\",\"type\":\"{}\",\"bytes\":{}}}\n",
          address, type, size);
      address += 256;
      bytes += size;
    }
  };
  add("Session", sessions, 48);
  add("String", strings, 32);
  return text +
         fmt::format(
             "{{\"record\":\"end\",\"complete\":true,\"objects\":{},\"bytes\":{},\"roots\":0,"
             "\"skipped\":0}}\n",
             sessions + strings, bytes);
}

// Snapshots of several services, one of which leaks sessions.
struct Snapshots {
  explicit Snapshots(std::size_t usual, std::size_t leaking = 30'000) {
    for (std::size_t i = 0; i < usual; ++i) add(fmt::format("web-{}.jsonl", i), 100 + i % 7);
    add("web-leaks.jsonl", leaking);
  }
  void add(const std::string& name, std::size_t sessions) {
    names.push_back(directory.file(name));
    write_text(names.back(), made_snapshot(sessions, 1000));
  }
  [[nodiscard]] std::vector<std::string> merge(const std::vector<std::string>& options) const {
    std::vector<std::string> all{"merge"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), names.begin(), names.end());
    return all;
  }

  TemporaryDirectory directory;
  std::vector<std::string> names;
};

}  // namespace

TEST_CASE("merge shows the service that is far from the rest") {
  const Snapshots snapshots(6);
  const ToolRun table = run_tool(snapshots.merge({"-q"}));
  INFO(table.output << table.errors);
  CHECK(table.status == 0);
  CHECK(has(table.output, "Session; far: web-leaks 291.3x\n"));
  CHECK(has(table.output, "7 snapshots;"));
  CHECK_FALSE(has(table.output, "String; far"));
  const ToolRun csv = run_tool(snapshots.merge({"-q", "-f", "csv", "--type", "Session"}));
  CHECK(has(csv.output, fmt::format("30000,1440000,4944,1,4711,\"web\",\"\",\"{}\",\"Session\"\r\n",
                                    snapshots.names.back())));
  CHECK(run_tool({"merge"}).status == 2);
  CHECK(run_tool({"merge", "--sort", "retained", snapshots.names.front()}).status == 2);
}

TEST_CASE("merge counts of each snapshot what count counts") {
  const std::string saved = CONSUMERS "/../data/heap.jsonl";
  const Snapshots others(1, 10);
  const ToolRun run = run_tool({"merge", "-q", "--json", saved, others.names[0], others.names[1]});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  simdjson::dom::parser parser;
  const simdjson::dom::element merged = parser.parse(run.output);
  std::string rows;
  for (const simdjson::dom::element type : simdjson::dom::array(merged["types"])) {
    std::size_t at = 0;
    for (const simdjson::dom::element in : simdjson::dom::array(type["in"])) {
      if (std::int64_t(in) == 0) {
        rows += fmt::format("{}\t{}\t{}\n", std::int64_t(type["counts"].at(at)),
                            std::int64_t(type["sizes"].at(at)), std::string_view(type["type"]));
      }
      ++at;
    }
  }
  const ToolRun counted = run_tool({"-q", "--count", "-f", "tsv", saved});
  const auto sorted = [](const std::string& text) {
    return run_in_shell("printf %s \"$1\" | grep -v '^objects' | sort", {text}).output;
  };
  CHECK(sorted(rows) == sorted(counted.output));
  CHECK(std::int64_t(merged["total"]["objects"]) == 36 + 2 * 1000 + 100 + 10);
}

TEST_CASE("a snapshot that cannot be read, or is partial, is named and does not hide the others") {
  Snapshots snapshots(3, 100);
  write_text(snapshots.names[1], "{\"record\":\"snapshot\",\"version\":1,\"pid\":1}\nnonsense\n");
  std::string cut = read_text(snapshots.names[2]);
  write_text(snapshots.names[2], cut.substr(0, cut.size() / 2));
  const ToolRun run = run_tool(snapshots.merge({"-q"}));
  INFO(run.output << run.errors);
  CHECK(run.status == 7);
  CHECK(has(run.output, fmt::format("not read: {}: ", snapshots.names[1])));
  CHECK(has(run.output, fmt::format("partial: {}: ", snapshots.names[2])));
  CHECK(has(run.output, "Session"));
  const ToolRun none = run_tool({"merge", snapshots.names[1]});
  CHECK(none.status == 1);
  CHECK(none.output.empty());
}

TEST_CASE("different processes with the same id are not written as one timeline") {
  Snapshots snapshots(1);
  const auto write = [&] {
    return run_tool(
        snapshots.merge({"-q", "--force", "-o", snapshots.directory.file("web.pftrace")}));
  };
  CHECK(write().status == 0);
  std::string other = read_text(snapshots.names.back());
  other.replace(other.find("\"host\":\"web\""), 12, "\"host\":\"app\"");
  write_text(snapshots.names.back(), other);
  const ToolRun run = write();
  CHECK(run.status == 8);
  CHECK_MESSAGE(has(run.errors, "are of different processes with the id 4711"), run.errors);
}

TEST_CASE("merge takes no more memory for many snapshots than for a few") {
  // A merge is not compared with a run on one snapshot, which is so short that its highest use of
  // memory can fall between two measurements.
  Snapshots snapshots(1, 30'000);
  // Copies of the largest snapshot, each with its own name.
  const auto merge_copies = [&](std::size_t copies) {
    while (snapshots.names.size() < copies + 2) {
      const std::string name = fmt::format("copy-{}.jsonl", snapshots.names.size());
      const std::string copy = snapshots.directory.file(name);
      REQUIRE(run_in_shell("ln \"$1\" \"$2\"", {snapshots.names[1], copy}).status == 0);
      snapshots.names.push_back(copy);
    }
    MeasuredRun run = run_measured(snapshots.merge({"-q", "--timeout", "600"}));
    CHECK_MESSAGE(run.run.status == 0, run.run.errors);
    CHECK(has(run.run.output, fmt::format("{} snapshots;", copies + 2)));
    print_figure(fmt::format("merge: {} KiB for {} snapshots, {:.0f} ms", run.peak_bytes >> 10U,
                             copies + 2, run.milliseconds));
    return run.peak_bytes;
  };
  const std::uint64_t few = merge_copies(20);
  const std::uint64_t many = merge_copies(static_cast<std::size_t>(rounds(60, 999)));
  constexpr std::uint64_t kMore = std::uint64_t{6} << 20;
  CHECK(many < few + kMore);
}

}  // namespace heapattach
