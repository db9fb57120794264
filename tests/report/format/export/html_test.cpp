#include "report/format/export/html.h"

#include <map>
#include <string>

#include <doctest/doctest.h>
#include <simdjson.h>

#include "report/analyze/merged_paths.h"
#include "report/analyze/type_sizes.h"
#include "report/model/counts.h"
#include "tests/report/format/export/hostile_snapshot.h"
#include "tests/support/memory_sink.h"

namespace heapattach::snapshot {

using simdjson::dom::element;

namespace {

std::string page_of(const Snapshot& snapshot) {
  MemorySink sink;
  REQUIRE(write_html(snapshot, sink, {}));
  return sink.text;
}

// The data in the page.
std::string data_of(const std::string& page) {
  const std::string_view begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t end = page.find("</script>", at);
  return page.substr(at + begin.size(), end - at - begin.size());
}

// Returns by value, because a loop over the result must not outlive a temporary.
template <class Value>
simdjson::dom::array array_of(const Value& value) {
  return value.get_array().value();
}

struct Report {
  explicit Report(const std::string& page) : text(data_of(page)) {
    REQUIRE(parser.parse(text).get(data) == simdjson::SUCCESS);
  }
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> rows(std::string_view key) const {
    std::vector<std::vector<std::uint64_t>> found;
    for (const element row : array_of(data[key])) {
      auto& numbers = found.emplace_back();
      for (const element number : array_of(row)) {
        numbers.push_back(number.get_uint64().value());
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const element name : array_of(data["names"])) {
      found.emplace_back(name.get_string().value());
    }
    return found;
  }

  std::string text;
  simdjson::dom::parser parser;
  element data;
};

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// TREE holds a list of nodes, each with a text. Two stacks hold another text together.
Snapshot list_of_texts() {
  SnapshotBuilder build;
  const auto node = build.type("Node");
  const auto text = build.type("Text");
  build.snapshot.types[node].paths = {{0, "@next"}, {8, "@text"}};
  const ObjectIndex count = 100;
  for (ObjectIndex i = 0; i < count; ++i) {
    build.object(0x1000 + 64ULL * i, node, 32, {{0, std::min(i + 1, count - 1)}, {8, count + i}});
  }
  for (ObjectIndex i = 0; i <= count; ++i) build.object(0x100000 + 64ULL * i, text, 48);
  Root root;
  root.symbol = "TREE";
  build.snapshot.roots.push_back(root);
  for (const pid_t thread : {4711, 4712}) {
    root = {};
    root.kind = RootKind::Stack;
    root.thread = thread;
    root.to = 2 * count;
    build.snapshot.roots.push_back(root);
    build.snapshot.threads.push_back({thread, "worker", 'S'});
  }
  return build.snapshot;
}

}  // namespace

TEST_CASE("a page has the counts of each type, what they retain, and a tree of the same") {
  HostileSnapshot build;
  SUBCASE("of live objects") {}
  SUBCASE("of all objects") {
    build.snapshot.header.live_only = false;
  }
  const Snapshot& snapshot = build.snapshot;
  const Report report(page_of(snapshot));
  CountTable truth = count_objects(snapshot);
  analyze::add_sizes(snapshot, CountBy::Type, truth);
  std::multimap<std::uint64_t, std::vector<std::uint64_t>> expected;
  std::multimap<std::uint64_t, std::vector<std::uint64_t>> found;
  std::uint64_t bytes = 0;
  for (const CountRow& row : truth.rows) {
    expected.emplace(row.bytes,
                     std::vector<std::uint64_t>{row.objects, row.bytes,
                                                row.is_reachable ? row.sizes->retained_bytes : 0,
                                                row.is_reachable ? 1U : 0U});
    bytes += row.bytes;
  }
  for (const auto& row : report.rows("types")) found.emplace(row[1], row);
  CHECK(found == expected);
  CHECK(report.data["totals"]["bytes"].get_uint64().value() == truth.bytes);
  std::uint64_t in_tree = 0;
  for (const auto& node : report.rows("tree")) in_tree += node[3];
  CHECK(in_tree == bytes);
  CHECK(report.rows("tree")[0][4] == bytes);
}

TEST_CASE("a page shows dominators, paths, and what each stack retains") {
  Snapshot snapshot = list_of_texts();
  const Report report(page_of(snapshot));
  const auto names = report.names();
  std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>> links;
  for (const auto& row : report.rows("links")) {
    links[{names.at(row[0]), names.at(row[1])}] = {row[2], row[3], row[4]};
  }
  // The links of a list hold each other, and what they retain counts once.
  CHECK(links.at({"TREE", "Node"}) == std::vector<std::uint64_t>{1, 32, 8000});
  CHECK(links.at({"Node", "Node"}) == std::vector<std::uint64_t>{99, 99 * 32, 99 * 80});
  CHECK(links.at({"Node", "Text"}) == std::vector<std::uint64_t>{100, 4800, 4800});
  CHECK(links.size() == 3);  // no single holder retains the last text
  std::vector<std::string> root_paths;
  for (const element root_path : array_of(report.data["ways"])) {
    std::string text = names.at(root_path["type"].get_uint64().value()) + " " +
                       std::to_string(root_path["objects"].get_uint64().value()) + ":";
    for (const element step : array_of(root_path["steps"])) {
      text += " " + std::string(step.at(0).get_string().value()) + "/" +
              names.at(step.at(1).get_uint64().value());
    }
    root_paths.push_back(text);
  }
  CHECK(root_paths == std::vector<std::string>{
                          "Node 99: global TREE/Node @next/Node", "Node 1: global TREE/Node",
                          "Text 99: global TREE/Node @next/Node @text/Text",
                          "Text 1: global TREE/Node @text/Text", "Text 1: stacks of threads/Text"});
  CHECK(array_of(report.data["threads"]).size() > 0);
  for (const element thread : array_of(report.data["threads"])) {
    CHECK(thread["retained"].get_uint64().value() == 0);
  }
}

TEST_CASE("a page shows the stacks of threads, each different stack once") {
  Snapshot snapshot = list_of_texts();
  snapshot.places.push_back({0x1234, {"wait<T>", "wait.c", 7}, {{"poll", "", 0}}, "app"});
  snapshot.places.push_back({0x5678, {}, {}, "app"});
  snapshot.stacks.emplace_back();
  snapshot.stacks.emplace_back();
  snapshot.stacks[1].frames = {{0, {}}, {1, {}}};
  for (Thread& thread : snapshot.threads) thread.stack = 1;
  const Report report(page_of(snapshot));
  CHECK(array_of(report.data["threads"]).size() > 0);
  for (const element thread : array_of(report.data["threads"])) {
    CHECK(thread["stack"].get_uint64().value() == 0);
  }
  std::string text;
  for (const element stack : array_of(report.data["stacks"])) {
    for (const element line : array_of(stack)) {
      text += std::string(line.at(0).get_string().value()) + "@" +
              std::string(line.at(1).get_string().value()) + "\n";
    }
  }
  CHECK(text == "poll@\nwait<T>@wait.c:7\n0x5678 of app@\n");
}

TEST_CASE(
    "whatever the names of the target's types, a page has two scripts, and one of them is data") {
  const HostileSnapshot build;
  const std::string page = page_of(build.snapshot);
  CHECK(times(page, "<script") == 2);
  CHECK(times(page, "</script") == 2);
  CHECK(page.find("default-src 'none'; script-src 'sha256-") != std::string::npos);
  const std::string data = data_of(page);
  CHECK(data.find_first_of("<>&\x1b") == std::string::npos);
  CHECK(data.find("\xe2\x80\xae") == std::string::npos);
  CHECK(data.find("alert(1)") != std::string::npos);  // the name is there, as text
  CHECK(page.find("http:") == std::string::npos);
  CHECK(page.find("https:") == std::string::npos);
}

TEST_CASE("a page of a source without edges still has its counts") {
  HostileSnapshot build;
  SUBCASE("without edges") {
    build.snapshot.first_edge.clear();
    build.snapshot.edges.clear();
  }
  SUBCASE("without roots") {
    build.snapshot.roots.clear();
  }
  SUBCASE("without anything") {
    build.snapshot = {};
  }
  const Report report(page_of(build.snapshot));
  CHECK_FALSE(report.data["has_edges"].get_bool().value());
  CHECK(report.rows("types").size() == count_objects(build.snapshot).rows.size());
  CHECK(report.rows("tree").empty());
}

TEST_CASE("a page of two snapshots has what grew between them") {
  const Snapshot before;
  const Snapshot after = list_of_texts();
  const Snapshot* const both[] = {&before, &after};
  GrowthReport growth;
  growth.sources = {{"before<1>.jsonl", 1, "", "", 0, 0}, {"after.jsonl", 1, "", "", 201, 8048}};
  growth.difference = analyze::compare(both, CountBy::Type);
  MemorySink sink;
  REQUIRE(write_html_of_growth(after, growth, sink, {}));
  const Report report(sink.text);
  const element difference = report.data["difference"].value();
  CHECK(difference["sources"].at(0).at(0).get_string().value() == "before<1>.jsonl");
  CHECK(difference["rows"].at(0).at(0).get_string().value() == "Node");
  CHECK(difference["rows"].at(0).at(3).get_uint64().value() == 100);
  CHECK(difference["rows"].at(0).at(4).get_uint64().value() == 3200);
}

TEST_CASE("a page has objects to inspect: fields, values, referrers and roots") {
  Snapshot snapshot = list_of_texts();
  snapshot.types[0].value_paths = {"@count"};
  ValuePiece piece;
  piece.text = "42<b>";
  piece.values = {{0, 2, 0, false, false}, {2, 3, Value::kOwn, true, true}};
  piece.first_value = {0, 2};
  snapshot.values.push_back(piece);
  MemorySink sink;
  ExportOptions how;
  SUBCASE("with values") {
    how.with_values = true;
  }
  SUBCASE("without them, if they were not requested") {}
  REQUIRE(write_html(snapshot, sink, how));
  const Report report(sink.text);
  const auto names = report.names();
  std::map<std::string, element> objects;
  for (const element object : array_of(report.data["objects"])) {
    objects[std::string(object["address"].get_string().value())] = object;
  }
  const element first = objects.at("0x1000");
  CHECK(first["retained"].get_uint64().value() == 8000);
  CHECK(first["roots"].at(0).get_string().value() == "global TREE");
  CHECK(first["fields_in_all"].get_uint64().value() == 2);
  CHECK(first["fields"].at(0).at(0).get_string().value() == "@next");
  CHECK(first["fields"].at(0).at(1).get_string().value() == "0x1040");
  CHECK(names.at(first["fields"].at(1).at(2).get_uint64().value()) == "Text");
  CHECK((first["values"].error() == simdjson::SUCCESS) == how.with_values);
  if (how.with_values) {
    CHECK(first["values"].at(0).at(1).get_string().value() == "42");
    CHECK(first["values"].at(1).at(1).get_string().value() == "<b>…");
  }
  const element second = objects.at("0x1040");
  CHECK(second["referrers_in_all"].get_uint64().value() == 1);
  CHECK(second["referrers"].at(0).at(0).get_string().value() == "@next");
  CHECK(second["referrers"].at(0).at(1).get_string().value() == "0x1000");
  CHECK(report.rows("types").size() == 2);
  CHECK(array_of(report.data["own"]).size() == 2);
}

}  // namespace heapattach::snapshot
