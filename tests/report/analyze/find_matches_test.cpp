#include "report/analyze/find_matches.h"

#include <vector>

#include <doctest/doctest.h>

#include "report/format/write/text_reports.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::analyze {

using snapshot::Snapshot;

namespace {

// Three sessions: ann's with 3 hits, bob's with 12, and one without a user. A list has the users.
// The text of ann's friend was cut.
Snapshot sessions() {
  SnapshotBuilder build;
  const auto session = build.type("Shop::Session");
  const auto user = build.type("Shop::User");
  const auto text = build.type("String");
  const auto list = build.type("List");
  auto& types = build.snapshot.types;
  types[session].paths = {{8, "@user"}};
  types[session].fields = {{"@user", "Shop::User", 8, 8}, {"@hits", "Int32", 16, 4}};
  types[session].value_paths = {"@hits"};
  types[user].paths = {{8, "@name"}};
  types[list].elements = {0, 8, "", {{0, ""}}};
  build.object(0x1000, session, 32, {{8, 3}});
  build.object(0x1020, session, 32, {{8, 4}});
  build.object(0x1040, session, 32);
  build.object(0x2000, user, 16, {{8, 5}});
  build.object(0x2010, user, 16, {{8, 6}});
  build.object(0x3000, text, 32);
  build.object(0x3020, text, 32);
  build.object(0x4000, list, 32, {{0, 3}, {8, 4}});
  snapshot::ValuePiece piece;
  piece.text = "312-1annbob and more";
  using snapshot::Value;
  piece.values = {{0, 1, 0, false, false},
                  {1, 2, 0, false, false},
                  {3, 2, 0, false, false},
                  {5, 3, Value::kOwn, true, false},
                  {8, 8, Value::kOwn, true, true}};
  piece.first_value = {0, 1, 2, 3, 3, 3, 4, 5, 5};
  build.snapshot.values.push_back(std::move(piece));
  return build.snapshot;
}

FindMatches found(const Snapshot& snapshot, std::string_view expression) {
  const auto parsed = parse_find(expression);
  REQUIRE(parsed.has_value());
  const auto matches = find_matches(snapshot, *parsed);
  INFO(expression, " ", matches ? std::string() : matches.error().message());
  REQUIRE(matches.has_value());
  return *matches;
}

std::vector<std::uint64_t> addresses(const Snapshot& snapshot, std::string_view expression) {
  std::vector<std::uint64_t> list;
  for (const FoundObject& one : found(snapshot, expression).found) {
    list.push_back(snapshot.objects[one.object].address);
  }
  return list;
}

using List = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "objects are found by a number, by a text through references, and by a field that is nil") {
  const Snapshot snapshot = sessions();
  CHECK(addresses(snapshot, "Session") == List{0x1000, 0x1020, 0x1040});
  CHECK(addresses(snapshot, "Session[@hits > 2]") == List{0x1000, 0x1020});
  CHECK(addresses(snapshot, "Session[hits == 3.0]") == List{0x1000});
  CHECK(addresses(snapshot, "Session[@hits <= -1]") == List{0x1040});
  CHECK(addresses(snapshot, "Session[@user.@name == \"ann\"]") == List{0x1000});
  CHECK(addresses(snapshot, "Session[@user.name ~ \"a*\"]") == List{0x1000});
  CHECK(addresses(snapshot, "Session[@user == nil]") == List{0x1040});
  CHECK(addresses(snapshot, "Session[@user]") == List{0x1000, 0x1020});
  CHECK(addresses(snapshot, "Session[@user.name != \"ann\"]") == List{0x1020, 0x1040});
  CHECK(addresses(snapshot, "Session[@hits == 12 or @user == nil and @hits == 0]") == List{0x1020});
  CHECK(addresses(snapshot, "List[[*].name == \"ann\"]") == List{0x4000});
  CHECK(addresses(snapshot, "List[[1].name == \"ann\"]") == List{});
}

TEST_CASE("a condition cannot be decided beyond the cut of a text") {
  const Snapshot snapshot = sessions();
  CHECK(found(snapshot, "User[@name == \"bob and more\"]").undecided == 1);
  CHECK(found(snapshot, "User[@name == \"bob and \"]").found.empty());
  CHECK(found(snapshot, "User[@name == \"carl\"]").undecided == 0);
  CHECK(addresses(snapshot, "User[@name ~ \"bob*\"]") == List{0x2010});
  CHECK(found(snapshot, "User[@name ~ \"*more\"]").undecided == 1);
  const FindMatches matches = found(snapshot, "User[@name == \"bob and more\"]");
  CHECK(format_find_text(snapshot, matches, 0, {}) ==
        "0 of 2 Shop::User match\n1 more may match: their texts were cut; --values=N keeps more of "
        "them\n");
}

TEST_CASE("an unknown field or type is an error with the column, not an empty result") {
  const Snapshot snapshot = sessions();
  const auto typo = find_matches(snapshot, *parse_find("Session[@usr == nil]"));
  REQUIRE_FALSE(typo.has_value());
  CHECK(typo.error().message() ==
        "--find, column 9, at '@usr == nil]': no Shop::Session has a field @usr; it has @hits, "
        "@user");
  CHECK_FALSE(find_matches(snapshot, *parse_find("Sesion")).has_value());
  const auto kinds = find_matches(snapshot, *parse_find("Session[@hits == \"3\"]"));
  REQUIRE_FALSE(kinds.has_value());
  CHECK(kinds.error().message().ends_with("@hits holds numbers, but is compared with a text"));
  const auto object = find_matches(snapshot, *parse_find("Session[@user > 5]"));
  REQUIRE_FALSE(object.has_value());
  CHECK(object.error().message().ends_with(
      "@user holds other objects, but is compared with a number"));
  Snapshot without = sessions();
  without.values.clear();
  const auto refused = find_matches(without, *parse_find("Session[@hits == 3]"));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message().find("--values") != std::string::npos);
  CHECK(addresses(without, "Session[@user == nil]") == List{0x1040});
}

TEST_CASE("a value that was not read is not compared, unless the rest decides") {
  Snapshot snapshot = sessions();
  for (auto& type : snapshot.types) {
    if (type.name != "Shop::Session") continue;
    type.fields[0].is_unread = true;  // @user
    type.fields.push_back({"@limit", "Int128", 24, 16, false, true});
  }
  const auto why = [&](std::string_view expression) {
    const auto refused = find_matches(snapshot, *parse_find(expression));
    return refused ? std::string() : std::string(refused.error().message());
  };
  const std::string limit = "@limit of Shop::Session cannot be compared: its values are not known";
  CHECK(why("Session[@limit > 3]").ends_with(limit));
  CHECK(why("Session[@limit != 3]").ends_with(limit));
  CHECK(why("Session[@limit == nil]").ends_with(limit));
  CHECK(why("Session[@hits == 3 or @limit > 3]").ends_with(limit));
  CHECK(addresses(snapshot, "Session[@hits > 100 and @limit > 3]") == List{});
  // A reference is always known. Only the third session's user may be a value that was not read.
  CHECK(addresses(snapshot, "Session[@user.name == \"ann\" and @hits == 3]") == List{0x1000});
  CHECK(why("Session[@user]")
            .ends_with("@user of Shop::Session cannot be compared: its values "
                       "are not known"));
}

TEST_CASE("numbers of any length are compared exactly") {
  Snapshot snapshot = sessions();
  snapshot::ValuePiece& piece = snapshot.values.front();
  piece.text = "9223372036854775809|0.30|-0";
  piece.values[0] = {0, 19, 0, false, false};
  piece.values[1] = {20, 4, 0, false, false};
  piece.values[2] = {25, 2, 0, false, false};
  CHECK(addresses(snapshot, "Session[@hits > 9223372036854775808]") == List{0x1000});
  CHECK(addresses(snapshot, "Session[@hits == 9223372036854775808]") == List{});
  CHECK(addresses(snapshot, "Session[@hits == 0.3]") == List{0x1020});
  CHECK(addresses(snapshot, "Session[@hits < 0.31]") == List{0x1020, 0x1040});
  CHECK(addresses(snapshot, "Session[@hits == 0]") == List{0x1040});
  CHECK(addresses(snapshot, "Session[@hits >= 1e3]") == List{0x1000});
}

TEST_CASE("found objects are written with the address first, and the values of the fields") {
  const Snapshot snapshot = sessions();
  const FindMatches matches = found(snapshot, "Session[@user.name and @hits > 0]");
  CHECK(format_find_text(snapshot, matches, 1, {}) ==
        "2 of 3 Shop::Session match\n"
        "0x1000  32 bytes  Shop::Session  @user.name: \"ann\"  @hits: 3\n"
        "… 1 more; --top N shows more\n");
  CHECK(format_find_json(snapshot, matches, 1) ==
        R"({"version":1,"pid":4711,"type":"Shop::Session","objects":3,"matches":2,"undecided":0,)"
        R"("found":[{"address":"0x1000","type":"Shop::Session","bytes":32,)"
        R"("values":{"@user.name":"\"ann\"","@hits":"3"}}]})"
        "\n");
}

}  // namespace heapattach::analyze
