#include "report/model/origin_check.h"

#include <doctest/doctest.h>

namespace heapattach::snapshot {

namespace {

Snapshot at(const char* captured) {
  Snapshot snapshot;
  snapshot.header.pid = 4711;
  snapshot.header.host = "ci-7";
  snapshot.header.exe = "/srv/app";
  snapshot.header.build_id = "33";
  snapshot.header.started = "2026-11-20T09:00:00Z";
  snapshot.header.captured = captured;
  return snapshot;
}

OriginCheck origins_of(const Snapshot& a, const Snapshot& b) {
  const std::vector<NamedSnapshot> both{{"a.jsonl", &a}, {"b.jsonl", &b}};
  return check_origins(both);
}

const Snapshot first = at("2026-11-20T11:00:00.000Z");

}  // namespace

TEST_CASE("two snapshots of one process, in order, need no remarks") {
  Snapshot second = at("2026-11-20T11:00:01.000Z");
  second.header.started = "2026-11-20T09:00:01Z";  // the clock was set between the snapshots
  const OriginCheck found = origins_of(first, second);
  CHECK(found.is_same_process);
  CHECK(found.remarks.empty());
}

TEST_CASE("swapped snapshots and one given twice are reported") {
  const Snapshot second = at("2026-11-20T11:00:01.000Z");
  REQUIRE(origins_of(second, first).remarks.size() == 1);
  CHECK(origins_of(second, first).remarks[0].find("wrong order") != std::string::npos);
  REQUIRE(origins_of(first, first).remarks.size() == 1);
  CHECK(origins_of(first, first).remarks[0].find("same moment") != std::string::npos);
}

TEST_CASE("other programs, builds and processes are reported, and objects are not matched") {
  Snapshot second = at("2026-11-20T11:00:01.000Z");
  const char* word = "";
  SUBCASE("another program") {
    second.header.exe = "/srv/other";
    second.header.build_id = "44";
    word = "two programs";
  }
  SUBCASE("another build") {
    second.header.build_id = "44";
    word = "two builds";
  }
  SUBCASE("another process") {
    second.header.pid = 4712;
    word = "two processes";
  }
  SUBCASE("a process with the same number, started later") {
    second.header.started = "2026-11-20T10:00:00Z";
    word = "two processes";
  }
  const OriginCheck found = origins_of(first, second);
  CHECK_FALSE(found.is_same_process);
  REQUIRE(found.remarks.size() == 1);
  CHECK(found.remarks[0].find(word) != std::string::npos);
}

TEST_CASE("a core file is assumed to be of the process with its pid and program, with a remark") {
  Snapshot core = at("2026-11-20T11:00:01.000Z");
  core.header.source = "core";
  core.header.host.clear();
  core.header.started.clear();
  const OriginCheck found = origins_of(first, core);
  CHECK(found.is_same_process);
  REQUIRE(found.remarks.size() == 1);
  CHECK(found.remarks[0].find("assumed to be the same process") != std::string::npos);
  CHECK(origins_of(core, first).is_same_process);
  core.header.pid = 5;
  CHECK_FALSE(origins_of(first, core).is_same_process);
}

TEST_CASE("a missing part and missing types are reported") {
  Snapshot second = at("2026-11-20T11:00:01.000Z");
  second.complete = false;
  second.reason = "it ends early";
  second.header.typed = TypedBytes{.header = 10, .vtable = 0, .referrer = 0, .unknown = 90};
  Snapshot typed = first;
  typed.header.typed = TypedBytes{.header = 90, .vtable = 0, .referrer = 0, .unknown = 10};
  const OriginCheck found = origins_of(typed, second);
  REQUIRE(found.remarks.size() == 2);
  CHECK(found.remarks[0].find("10 % of the bytes have no type") != std::string::npos);
  CHECK(found.remarks[1] == "b.jsonl is partial: it ends early");
}

}  // namespace heapattach::snapshot
