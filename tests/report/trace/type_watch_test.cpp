// Tests the types of objects that a blob in the test's own process samples.

#include "report/trace/type_watch.h"

#include <cstring>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "tests/fakes/own_memory.h"
#include "tests/inject/trace/own_blob.h"

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kShape = 0x5010;
constexpr std::uint64_t kCircle = 0x6010;
constexpr std::uint64_t kMilliseconds = 1'000'000;

ObjectTypes shapes() {
  Symbol shape;
  shape.name = "_ZTV5Shape";
  shape.address = RemoteAddr{kShape - 16};
  shape.bytes = 40;
  Symbol circle = shape;
  circle.name = "_ZTV6Circle";
  circle.address = RemoteAddr{kCircle - 16};
  return {std::nullopt, cxx::VtableNames(std::vector<Symbol>{shape, circle}), {"Shape"}};
}

struct Watching {
  explicit Watching(bool with_collector = true) : is_collected(with_collector) {
    blob.control().last_collection = test_collector.collections;
  }
  ~Watching() { test_collector.only_marked = 0; }

  std::uint64_t* allocate() {
    auto* const object = static_cast<std::uint64_t*>(ha_test_allocate(24, 0));
    read_all_records();
    return object;
  }
  void read_all_records() {
    for (;;) {
      const auto entry = blob.ring().front();
      REQUIRE(entry);
      if (!*entry) return;
      const RingRecord& record = (*entry)->record;
      if (record.what == kRecordAllocated) {
        made_at = record.time;
        number = watch.add(record);
      } else {
        watch.end(record.address);
      }
      blob.ring().pop();
    }
  }
  // Reads the ring and looks at the object, so many milliseconds after the allocation.
  void advance(std::uint64_t milliseconds) {
    read_all_records();
    watch.advance(blob.ring(), made_at + milliseconds * kMilliseconds);
  }
  // The type, or "?" while more may be learned.
  std::string type() { return watch.is_done(number) ? watch.take(number) : "?"; }

  bool is_collected;
  OwnBlob blob{1};
  OwnMemory memory;
  ObjectTypes types = shapes();
  TypeWatch watch{types,
                  memory,
                  {RemoteAddr{is_collected ? trace::number(&test_collector.collections) : 0},
                   RemoteAddr{trace::number(&blob.control().last_collection)}}};
  std::uint64_t number = 0;
  std::uint64_t made_at = 0;
};

}  // namespace

TEST_CASE("a sampled object has the type of its header once this has been written") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  REQUIRE(at.number != 0);
  at.advance(1);
  CHECK(at.type() == "?");
  *object = kCircle;
  at.advance(3);
  // The type has been seen, but a record of the object's end could still be in the ring.
  CHECK(at.type() == "?");
  at.advance(4);
  CHECK(at.type() == "Circle");
}

TEST_CASE("an object that gets its header late is looked at a second time, and not again") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  at.advance(3);
  at.advance(10);
  SUBCASE("there is one") {
    *object = kCircle;
    at.advance(35);
    at.advance(36);
    CHECK(at.type() == "Circle");
  }
  SUBCASE("there is none") {
    at.advance(35);
    at.advance(36);
    CHECK(at.type() == "");
  }
}

TEST_CASE("an object that was freed has no type, whatever its memory has become") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  SUBCASE("before it was looked at") {
    ha_test_release(object);
    *object = kCircle;
    at.advance(3);
  }
  SUBCASE("and the record of that is still in the ring") {
    // The object is freed and used again between the reading of the ring and the look.
    at.read_all_records();
    ha_test_release(object);
    *object = kCircle;
    at.watch.advance(at.blob.ring(), at.made_at + 3 * kMilliseconds);
    CHECK(at.type() == "?");
    at.advance(4);
  }
  SUBCASE("by a collection") {
    at.read_all_records();
    ++test_collector.collections;
    at.blob.collect();
    *object = kCircle;
    at.watch.advance(at.blob.ring(), at.made_at + 3 * kMilliseconds);
    at.advance(4);
  }
  CHECK(at.type() == "");
}

TEST_CASE("an object that a collection marks keeps its type") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  *object = kCircle;
  test_collector.only_marked = number(object);
  ++test_collector.collections;
  at.blob.collect();
  at.advance(3);
  at.advance(4);
  CHECK(at.type() == "Circle");
}

TEST_CASE("nothing is believed after a collection that the tracer did not see") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  *object = kCircle;
  ++test_collector.collections;
  at.advance(3);
  at.advance(4);
  at.advance(35);
  at.advance(36);
  CHECK(at.type() == "");
  --test_collector.collections;
}

TEST_CASE("without a traced collector, collections do not matter") {
  Watching at(false);
  std::uint64_t* const object = at.allocate();
  object[0] = kCircle;
  ++test_collector.collections;
  at.advance(5);
  at.advance(6);
  CHECK(at.type() == "Circle");
}

TEST_CASE("an object under construction is not of its base class") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  *object = kShape;
  at.advance(3);
  at.advance(4);
  CHECK(at.type() == "?");
  SUBCASE("it gets the vtable of its own class") {
    *object = kCircle;
    at.advance(35);
    at.advance(36);
    CHECK(at.type() == "Circle");
  }
  SUBCASE("it is of that class") {
    at.advance(35);
    at.advance(36);
    CHECK(at.type() == "Shape");
  }
  SUBCASE("it is gone before that is certain") {
    ha_test_release(object);
    at.advance(35);
    CHECK(at.type() == "");
  }
}

TEST_CASE("after the tracer has left, no more is looked at") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  SUBCASE("and not before") {}
  SUBCASE("and what was seen counts") {
    *object = kCircle;
    at.advance(3);
  }
  const bool is_seen = *object != 0;
  at.watch.stop();
  *object = kCircle;
  at.advance(5);
  CHECK(at.type() == (is_seen ? "Circle" : ""));
}

TEST_CASE("an address that is allocated again ends the object that was there") {
  Watching at;
  std::uint64_t* const object = at.allocate();
  *object = kCircle;
  RingRecord again{};
  again.address = number(object);
  again.size = 24;
  again.is_tracked = 1;
  again.time = at.made_at;
  const std::uint64_t second = at.watch.add(again);
  CHECK(at.type() == "");
  CHECK(second != 0);
}

}  // namespace heapattach::trace
