#include "report/cli/fail_if.h"

#include <doctest/doctest.h>

namespace heapattach {

namespace {

snapshot::CountTable sample() {
  snapshot::CountTable table;
  table.rows = {{"Hash(String, Foo | Nil)", 11, 528, true},
                {"Session", 1000, 48000, true},
                {"Session", 5, 240, false}};
  return table;
}

bool held(std::string_view text) {
  const auto condition = parse_fail_if(text);
  REQUIRE(condition);
  return holds(*condition, measure(*condition, sample()));
}

bool held_by_growth(std::string_view text) {
  analyze::Difference difference;
  difference.rows = {{"Job", {9, 900}, {1, 100}, {}, {}}, {"Session", {1, 48}, {4, 192}, {}, {}}};
  const auto condition = parse_fail_if(text);
  REQUIRE(condition);
  return holds(*condition, measure(*condition, difference));
}

}  // namespace

TEST_CASE("a condition counts the reachable objects of a type") {
  CHECK(held("count(Session) > 999"));
  CHECK_FALSE(held("count(Session) > 1000"));
  CHECK(held("count(Session)>=1000"));
  CHECK(held("  bytes ( Session )  >  46k "));
  CHECK_FALSE(held("bytes(Session) > 1M"));
  CHECK(held("count(Hash(String, Foo | Nil)) > 10"));
  CHECK(held("count(*) == 1011"));
  CHECK(held("count(Never) < 1"));
  CHECK(held("count(Never) <= 0"));
  CHECK_FALSE(held("count(Session) != 1000"));
}

TEST_CASE("growth is negative if there is less, and counts are those of the last snapshot") {
  CHECK(held_by_growth("growth(Session) > 2"));
  CHECK_FALSE(held_by_growth("growth(Session) > 3"));
  CHECK(held_by_growth("growth_bytes(Session) == 144"));
  CHECK(held_by_growth("growth(Job) < 0"));
  CHECK_FALSE(held_by_growth("growth(Job) >= 0"));
  CHECK(held_by_growth("growth(*) < 1"));
  CHECK(held_by_growth("count(Session) == 4"));
  CHECK(held_by_growth("bytes(Job) == 100"));
}

TEST_CASE("a condition may be one word") {
  CHECK(parse_fail_if(" deadlock ")->what == FailIf::What::Deadlock);
  CHECK(parse_fail_if("found")->is_a_word());
  CHECK_FALSE(parse_fail_if("deadlocks"));
}

TEST_CASE("an invalid condition is refused with an example") {
  for (const char* text :
       {"", "count", "count(", "count()", "count( ) > 1", "count(A > 1", "count(A) 1", "count(A) >",
        "count(A) > x", "count(A) > 1x", "count(A) > -1", "count(A) > 99999999999999999999",
        "count(A) > 99999999999G", "growth_objects(A) > 1", "size(A) > 1", "count(A)) > 1",
        "count(A) > 1 2"}) {
    CAPTURE(text);
    const auto condition = parse_fail_if(text);
    REQUIRE_FALSE(condition);
    CHECK(condition.error().kind == ErrorKind::Malformed);
    CHECK(condition.error().message().find("count(TYPE) > 100") != std::string::npos);
  }
}

TEST_CASE("sizes have units of 1024") {
  CHECK(*parse_size("17") == 17);
  CHECK(*parse_size("3k") == 3072);
  CHECK(*parse_size("2M") == 2097152);
  CHECK(*parse_size("1G") == 1073741824);
  CHECK_FALSE(parse_size("k"));
  CHECK_FALSE(parse_size(" 1"));
}

}  // namespace heapattach
