#include "report/analyze/duplicates.h"

#include <map>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "report/format/write/string_formats.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

namespace {

// Makes strings one after the other, in pieces of a few objects.
class StringsBuilder {
 public:
  SnapshotBuilder build;
  TypeIndex string = build.type("String");
  TypeIndex other = build.type("Session");

  Object& add(TypeIndex type, std::uint64_t bytes, const std::string* text, bool is_cut = false) {
    auto& pieces = build.snapshot.values;
    const auto index = static_cast<ObjectIndex>(build.snapshot.objects.size());
    if (index % 5 == 0) {
      pieces.emplace_back();
      pieces.back().first_object = index;
      pieces.back().first_value = {0};
    }
    ValuePiece& piece = pieces.back();
    if (text != nullptr) {
      Value value;
      value.at = piece.text.size();
      value.bytes = static_cast<std::uint32_t>(text->size());
      value.is_cut = is_cut;
      piece.text += *text;
      piece.values.push_back(value);
    }
    piece.first_value.push_back(static_cast<std::uint32_t>(piece.values.size()));
    return build.object(0x1000 + 64 * std::uint64_t{index}, type, bytes);
  }
  Object& add(const std::string& text, std::uint64_t bytes = 32) {
    return add(string, bytes, &text);
  }
};

}  // namespace

TEST_CASE("duplicate texts are ranked by what they waste") {
  StringsBuilder strings;
  for (int i = 0; i < 3; ++i) strings.add("often");
  strings.add("large", 4096);
  strings.add("large", 1024);
  strings.add("once");
  strings.add("often").is_reachable = 0;
  const std::string text = "often";
  strings.add(strings.other, 32, &text);  // a Session's only field
  const Duplicates found = find_duplicates(strings.build.snapshot);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].text == "large");
  CHECK(found.rows[0].wasted_bytes == 1024);
  CHECK(found.rows[1].copies == 3);
  CHECK(found.rows[1].bytes == 96);
  CHECK(found.rows[1].wasted_bytes == 64);
  CHECK(found.strings == 6);
  CHECK(found.distinct == 3);
  CHECK(found.wasted_bytes == 1088);
}

TEST_CASE("a cut or missing text is not compared, and the report mentions it") {
  StringsBuilder strings;
  const std::string text = "begins alike";
  strings.add(strings.string, 64, &text, true);
  strings.add(strings.string, 64, &text, true);
  strings.add(strings.string, 64, nullptr);
  StringReport report;
  report.found = find_duplicates(strings.build.snapshot);
  CHECK(report.found.rows.empty());
  CHECK(report.found.cut == 2);
  CHECK(report.found.without_text == 1);
  CHECK(format_strings_table(report, {}).find("the snapshot has only the start of 2 strings") !=
        std::string::npos);
  CHECK(format_strings_json(report).find("\"cut_strings\":2,\"without_text\":1") !=
        std::string::npos);
}

TEST_CASE("memory for characters that has no text is not a copy of a text") {
  StringsBuilder strings;
  const TypeIndex characters = strings.build.type("char[]");
  const std::string none;
  const std::string text = "some";
  for (int i = 0; i < 2; ++i) {
    strings.add(characters, 4096, &none);
    strings.add(characters, 32, &text);
    strings.add("");  // an empty String is a String, too
  }
  const Duplicates found = find_duplicates(strings.build.snapshot);
  CHECK(found.rows.size() == 2);
  CHECK(found.strings == 4);
  CHECK(found.bytes == 4 * 32);
}

TEST_CASE("a snapshot without any texts still has strings") {
  SnapshotBuilder build;
  build.object(0x1000, build.type("String"), 32);
  const Duplicates found = find_duplicates(build.snapshot);
  CHECK(found.strings == 1);
  CHECK(found.without_text == 1);
}

TEST_CASE("duplicates equal those of a plain map, even over many pieces") {
  std::mt19937 random(11);
  StringsBuilder strings;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> naive;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 4 == 0) {
      strings.add(strings.other, 16, nullptr);
      continue;
    }
    const std::string text(random() % 3, static_cast<char>('a' + random() % 26));
    strings.add(text);
    naive[text].first += 1;
    naive[text].second += 32;
  }
  const Duplicates found = find_duplicates(strings.build.snapshot);
  CHECK(found.distinct == naive.size());
  CHECK(found.rows.size() > 10);
  for (const DuplicateRow& row : found.rows) {
    const auto& [copies, bytes] = naive.at(std::string(row.text));
    CHECK(row.copies == copies);
    CHECK(row.bytes == bytes);
    CHECK(row.wasted_bytes == bytes - 32);
  }
}

TEST_CASE("texts are shown quoted, escaped and in part, in JSON too") {
  StringsBuilder strings;
  strings.add("a\x1b\"");
  strings.add("a\x1b\"");
  strings.add("a text that is too long", 64);
  strings.add("a text that is too long", 64);
  strings.add("x");
  strings.add("x");
  StringReport report;
  report.pid = 4711;
  report.shown_bytes = 10;
  report.found = find_duplicates(strings.build.snapshot);
  drop_rows(2, 0, report.found);
  CHECK(format_strings_table(report, {}) ==
        "wasted  copies  bytes    type  text\n"
        "    64       2    128  String  \"a text tha\"… (23 bytes)\n"
        "    32       2     64  String  \"a\\x1b\"\"\n"
        "    32                         (1 more texts)\n"
        "   128       6    256          all strings, 3 different texts\n");
  CHECK(format_strings_json(report) ==
        R"({"version":1,"report":"strings","pid":4711,"strings":6,"bytes":256,"distinct":3,)"
        R"("wasted_bytes":128,"duplicates":[{"text":"a text tha","cut":true,"text_bytes":23,)"
        R"("type":"String","copies":2,"bytes":128,"wasted_bytes":64},)"
        R"({"text":"a\u001b\"","type":"String","copies":2,"bytes":64,"wasted_bytes":32}]})"
        "\n");
}

}  // namespace heapattach::snapshot
