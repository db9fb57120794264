#include "symbols/boehm/marking_rules.h"

#include <doctest/doctest.h>

#include "symbols/boehm/churn.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/kinds.h"
#include "symbols/boehm/mark_bits.h"
#include "symbols/heap/mark.h"
#include "symbols/heap/roots.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kData{0x5560'0000'0000};  // of the collector
constexpr std::uint64_t kDataBytes = 0x4000;
constexpr RemoteAddr kKinds = kData + 0x400;
constexpr RemoteAddr kTable = kData + 0x1000;
constexpr RemoteAddr kConstant{0x5570'0000'0000};  // not captured
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
constexpr std::uint64_t kTyped = 5;  // kinds
constexpr std::uint64_t kArray = 6;
constexpr std::uint64_t kFirstProcedure = 8;

constexpr std::uint64_t procedure(std::uint64_t number, std::uint64_t environment = 0) {
  return (environment << 6 | number) << 2 | kByProcedure;
}

using Offsets = std::vector<std::uint64_t>;

// A heap with the collector's tables, and one object for other objects to reference.
struct Rig {
  FakeGcHeap fake;
  Collector collector;
  RemoteAddr target;

  Rig() {
    fake.add_memory(kData, kDataBytes);
    fake.add_memory(kConstant, 64);
    target = fake.add_block({.object_bytes = 4096});
    collector.version = "8.2.2";
  }

  void make_kinds() {
    collector.kinds = Range{kKinds, 16 * 48};
    for (std::uint64_t kind = 0; kind <= kArray; ++kind) {
      fake.put(kKinds + kind * 48, kData + kind * kListsOfKind * 8);
    }
    fake.put(kKinds + kTyped * 48 + 16, ~std::uint64_t{7} | kPerObject);
    fake.put(kKinds + kArray * 48 + 16, procedure(kFirstProcedure + 1));
  }

  // Adds a block of objects whose words all point to the target.
  RemoteAddr add_objects(const FakeGcHeap::BlockSpec& spec) {
    const RemoteAddr block = fake.add_block(spec);
    for (std::uint64_t i = 0; i < spec.object_bytes / 8; ++i) fake.put(block + i * 8, target);
    return block;
  }
  RemoteAddr add_typed(std::uint64_t bytes, std::uint64_t descriptor) {
    const RemoteAddr block =
        add_objects({.object_bytes = bytes, .kind = kTyped, .descriptor = bytes - 8 + kPerObject});
    fake.put(block + bytes - 8, descriptor);
    return block;
  }

  // Adds entries of GC_ext_descriptors, in a table that the collector's data references.
  void add_bitmaps(const std::vector<ExtendedBitmap>& bitmaps) {
    const RemoteAddr table = fake.add_block({.object_bytes = 1616, .kind = kAtomic});
    for (std::size_t i = 0; i < bitmaps.size(); ++i) {
      fake.put(table + i * 16, bitmaps[i].bits);
      fake.put(table + i * 16 + 8, std::uint64_t{bitmaps[i].goes_on});
    }
    fake.put(kData + 0x40, table);
  }

  // Copies everything and reads the rules.
  struct Taken {
    CapturedHeap captured;
    explicit Taken(Rig& rig) : captured(rig.fake, {{kData, kDataBytes}}) {
      const std::vector<Range> data = {{kData, kDataBytes}};
      follow(captured.heap(), read_marking_rules(captured.heap(), rig.collector, data,
                                                 captured.capture(), rig.fake.memory()));
    }
    Offsets edges_of(RemoteAddr object) {
      Offsets offsets;
      const auto ref = captured.heap().object_at(object.value);
      REQUIRE(ref.has_value());
      captured.heap().for_each_edge(
          *ref, [&](std::uint64_t offset_words, ObjectRef) { offsets.push_back(offset_words); });
      return offsets;
    }
    bool is_guess(RemoteAddr object) {
      return captured.heap().scanned_words(*captured.heap().object_at(object.value)).is_guess;
    }
  };
};

TEST_CASE("only registered displacements reference an object") {
  Rig rig;
  rig.fake.layout().all_interior_pointers = false;
  for (const std::uint64_t at : {0U, 8U, 1000U}) rig.fake.put(kTable + at, std::uint8_t{1});
  rig.collector.displacements = kTable;
  const RemoteAddr small = rig.fake.add_block({.object_bytes = 48});
  const RemoteAddr large = rig.fake.add_block({.object_bytes = 9008});
  Rig::Taken taken(rig);
  const Heap& heap = taken.captured.heap();
  CHECK(heap.resolve(small.value + 48));
  CHECK(heap.resolve(small.value + 56));
  CHECK_FALSE(heap.resolve(small.value + 49));
  CHECK_FALSE(heap.resolve(small.value + 64));
  CHECK(heap.resolve(large.value + 1000));
  CHECK_FALSE(heap.resolve(large.value + 1001));
  CHECK_FALSE(heap.resolve(large.value + 4096 + 8));
  // A pointer on a stack counts wherever in an object it points.
  CHECK(heap.resolve(small.value + 64, Heap::From::Stack));
  CHECK(heap.resolve(large.value + 9000, Heap::From::Stack));
  CHECK_FALSE(heap.resolve(large.value + 9008, Heap::From::Stack));
}

TEST_CASE("a table of displacements is found by content, even if all of them count") {
  FakeMemory memory;
  memory.map_zero(kData, 0x8000);
  const Range arrays{kData, 0x8000};
  memory.put(kData + 0x10, std::uint64_t{0x5555'0000'1234});
  CHECK_FALSE(search_displacements(arrays, Layout(), memory).has_value());
  memory.put(kData + 0x38, std::uint64_t{0x01'0000'0001});  // GC_modws_valid_offsets: 0 and 4
  memory.put(kTable, std::uint8_t{1});
  memory.put(kTable + 12, std::uint8_t{1});
  auto found = search_displacements(arrays, Layout(), memory);
  REQUIRE(found);
  CHECK(found->at == kTable);
  CHECK_FALSE(found->has_all);
  // The form up to 7.4. The words after the table, which are also 0 or 1, do not count as its part.
  memory.put(kTable + 4096, std::uint64_t{0x01'0000'0001});
  memory.put(kTable + 8, std::uint8_t{1});
  memory.put(kData + 0x38, std::uint64_t{0});
  found = search_displacements(arrays, Layout(), memory);
  REQUIRE(found);
  CHECK(found->at == kTable);
  for (std::uint64_t i = 0; i < 4096; ++i) memory.put(kData + 0x4008 + i, std::uint8_t{1});
  found = search_displacements(arrays, Layout(), memory);
  REQUIRE(found);
  CHECK(found->at == kData + 0x4008);
  CHECK(found->has_all);
}

TEST_CASE("in incremental mode and in old releases a stack reaches beyond the first page") {
  Rig rig;
  const RemoteAddr large = rig.fake.add_block({.object_bytes = 16'384, .flags = kIgnoreOffPage});
  const auto leads = [&](Heap::From from) {
    Rig::Taken taken(rig);
    return taken.captured.heap().resolve(large.value + 5000, from).has_value();
  };
  CHECK_FALSE(leads(Heap::From::Stack));
  rig.collector.version = "7.6.4";
  CHECK(leads(Heap::From::Stack));
  CHECK_FALSE(leads(Heap::From::Heap));
  rig.collector.version = "8.2.2";
  rig.collector.incremental = kData + 8;
  CHECK_FALSE(leads(Heap::From::Stack));
  rig.fake.put(kData + 8, std::uint32_t{1});
  CHECK(leads(Heap::From::Stack));
}

TEST_CASE("long bitmaps select the words of an object that are scanned") {
  Rig rig;
  rig.make_kinds();
  rig.add_bitmaps({{1, false}, {1U << 3 | kTop, true}, {4, false}});
  const RemoteAddr object = rig.add_typed(1040, procedure(kFirstProcedure, 1));
  const RemoteAddr first = rig.add_typed(1024, procedure(kFirstProcedure, 0));
  const RemoteAddr foreign = rig.add_typed(64, procedure(kFirstProcedure + 3, 0));
  Rig::Taken taken(rig);
  CHECK(rules_of(taken.captured.heap()).typed_procedure == kFirstProcedure);
  CHECK(taken.edges_of(object) == Offsets{3, 63, 66});
  CHECK_FALSE(taken.is_guess(object));
  CHECK(taken.edges_of(first) == Offsets{0});
  CHECK(taken.edges_of(foreign).size() == 7);
  CHECK(taken.is_guess(foreign));
}

TEST_CASE("an object with more bitmaps than exist is scanned whole") {
  Rig rig;
  rig.make_kinds();
  rig.add_bitmaps({{1, false}});
  const RemoteAddr object = rig.add_typed(1024, procedure(kFirstProcedure, 5000));
  Rig::Taken taken(rig);
  CHECK(taken.edges_of(object).size() == 127);
  CHECK(taken.is_guess(object));
}

TEST_CASE("an array is scanned by the tree that describes its elements") {
  Rig rig;
  rig.make_kinds();
  const RemoteAddr nodes = rig.fake.add_block({.object_bytes = 64});
  const auto write = [&](std::uint64_t at, const std::vector<std::uint64_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) rig.fake.put(nodes + at + i * 8, words[i]);
    return (nodes + at).value;
  };
  const std::uint64_t threes = write(0, {1, 24, 3, kTop | kByBitmap});
  const std::uint64_t pair = write(64, {1, 16, 1, 16});
  const std::uint64_t pairs = write(128, {2, 2, pair});
  const std::uint64_t both = write(192, {3, threes, pairs});
  const auto add = [&](std::uint64_t description) {
    const RemoteAddr array = rig.add_objects(
        {.object_bytes = 128, .kind = kArray, .descriptor = procedure(kFirstProcedure + 1)});
    rig.fake.put(array + 120, description);
    return array;
  };
  const RemoteAddr leaf = add(threes);
  const RemoteAddr sequence = add(both);
  const RemoteAddr on_free_list = add(0);
  std::vector<RemoteAddr> wrong;
  wrong.push_back(add(write(256, {1, 24, 6, kTop | kByBitmap})));    // longer than the object
  wrong.push_back(add(write(320, {1, 0, 6, kTop | kByBitmap})));     // elements of no size
  wrong.push_back(add(write(384, {1, 12, 6, kTop | kByBitmap})));    // not of whole words
  wrong.push_back(add(write(448, {2, ~std::uint64_t{0}, pair})));    // without end
  wrong.push_back(add(write(512, {3, (nodes + 512).value, pair})));  // within itself
  wrong.push_back(add(write(576, {4, 1, 1, 1})));                    // unknown kind
  wrong.push_back(add(0x1234));                                      // nowhere
  wrong.push_back(add(write(640, {1, 16, 1, procedure(11)})));       // marked by the program
  Rig::Taken taken(rig);
  // The last word points to the description.
  CHECK(taken.edges_of(leaf) == Offsets{0, 3, 6, 15});
  CHECK(taken.edges_of(sequence) == Offsets{0, 3, 6, 9, 10, 11, 12, 15});
  CHECK(taken.edges_of(on_free_list).empty());
  CHECK_FALSE(taken.is_guess(sequence));
  for (const RemoteAddr array : wrong) {
    CHECK(taken.edges_of(array).size() >= 15);
    CHECK(taken.is_guess(array));
  }
}

TEST_CASE("parts of a large array are scanned by themselves") {
  Rig rig;
  rig.make_kinds();
  const RemoteAddr array = rig.add_objects(
      {.object_bytes = 8192, .kind = kArray, .descriptor = procedure(kFirstProcedure + 1)});
  const RemoteAddr leaf = array + 8192 - 40;
  const std::vector<std::uint64_t> words = {1, 24, 300, kTop >> 1 | kByBitmap, leaf.value};
  for (std::size_t i = 0; i < words.size(); ++i) rig.fake.put(leaf + i * 8, words[i]);
  Rig::Taken taken(rig);
  const Offsets whole = taken.edges_of(array);
  CHECK(whole.size() == 301);
  Offsets parts;
  const ScannedWords scanned =
      taken.captured.heap().scanned_words(*taken.captured.heap().object_at(array.value));
  for (std::uint64_t from = 0; from < 1024; from += 100) {
    for_each_word(scanned, from, from + 100,
                  [&](std::uint64_t at, std::uint64_t) { parts.push_back(at); });
  }
  CHECK(parts == whole);
}

TEST_CASE("a descriptor in constant memory is read from there") {
  Rig rig;
  rig.fake.put(kConstant + 8, (kTop >> 2) | kByBitmap);
  const std::uint64_t by_first_word = (~std::uint64_t{0} - 8 - kIndirectBias + 1) | kPerObject;
  const RemoteAddr block =
      rig.add_objects({.object_bytes = 64, .kind = 4, .descriptor = by_first_word});
  rig.fake.put(block, kConstant);
  rig.fake.put(block + 64, RemoteAddr{0x1000});  // leads nowhere
  Rig::Taken taken(rig);
  CHECK(taken.edges_of(block) == Offsets{2});
  CHECK_FALSE(taken.is_guess(block));
  CHECK(taken.is_guess(block + 64));
  CHECK(taken.edges_of(block + 128).empty());  // the end of a free list
}

TEST_CASE("objects that are scanned whole for lack of a rule are counted") {
  Rig rig;
  const RemoteAddr own =
      rig.add_objects({.object_bytes = 64, .kind = 7, .descriptor = procedure(12)});
  const RemoteAddr plain = rig.add_objects({.object_bytes = 64});
  Rig::Taken taken(rig);
  const Heap& heap = taken.captured.heap();
  ObjectSet live(heap);
  CHECK(count_guesses(heap, live).objects == 0);
  for (const RemoteAddr at : {own, own + 640, plain})
    live.insert(heap.number(*heap.object_at(at.value)));
  CHECK(count_guesses(heap, live).objects == 2);
  CHECK(count_guesses(heap, live).bytes == 128);
}

TEST_CASE("objects that are marked unconditionally keep their references, dead or not") {
  Rig rig;
  const RemoteAddr block =
      rig.fake.add_block({.object_bytes = 64, .kind = 7, .flags = kMarkUnconditionally});
  const RemoteAddr held = rig.fake.add_block({.object_bytes = 48});
  rig.fake.put(block, kConstant + 1);  // in use: its first word has a tag
  rig.fake.put(block + 8, held);
  rig.fake.put(block + 64, block + 128);  // free: a link
  rig.fake.put(block + 72, held + 48);
  Rig::Taken taken(rig);
  const auto found = find_collector_objects(taken.captured.heap(), taken.captured.capture(), {});
  REQUIRE(found.finalizable.size() == 1);
  CHECK(taken.captured.heap().address(found.finalizable[0]) == held);
}

TEST_CASE("the live set is compared with the marks of the last collection") {
  Rig rig;
  const RemoteAddr block = rig.fake.add_block({.object_bytes = 64});
  for (const std::uint64_t at : {0U, 64U, 128U}) rig.fake.set_mark(block, block + at);
  Rig::Taken taken(rig);
  const Heap& heap = taken.captured.heap();
  boehm::LiveSet found{{ObjectSet(heap), ObjectSet(heap)}, {}};
  const auto number = [&](std::uint64_t at) {
    return heap.number(*heap.object_at((block + at).value));
  };
  found.live.insert(number(0));
  found.live.insert(number(640));  // not marked
  found.free.insert(number(64));   // the collector marks objects on free lists
  const MarkComparison compared = compare_with_marks(heap, found);
  CHECK(compared.blocks == 1);
  CHECK(compared.marked == 2);
  CHECK(compared.missing == 1);
  CHECK(compared.unmarked == 1);
}

TEST_CASE(
    "marked objects may be missing if finalizers, stale words or lists of threads held them") {
  Rig rig;
  const RemoteAddr large = rig.fake.add_block({.object_bytes = 512});  // too large for such lists
  const RemoteAddr small = rig.fake.add_block({.object_bytes = 64});
  for (std::uint64_t i = 0; i < 8; ++i) rig.fake.set_mark(large, large + i * 512);
  for (std::uint64_t i = 2; i < 40; ++i) rig.fake.set_mark(small, small + i * 64);
  rig.fake.put(large, large + 512);
  rig.fake.put(large + 1024, large + 1536);
  for (const std::uint64_t entry : {0U, 64U}) {
    rig.fake.put(small + entry, large + 2048 + entry / 64 * 512);
    rig.fake.put(small + entry + 16, std::uint64_t{0x401000});  // its procedure
  }
  rig.fake.put(small + 32, std::uint64_t{512});       // its size, as in 8.2
  rig.fake.put(small + 64 + 40, std::uint64_t{512});  // as in 8.3
  rig.fake.put(small + 64 + 24, std::uint64_t{0x402000});
  Rig::Taken taken(rig);
  const Heap& heap = taken.captured.heap();
  boehm::LiveSet found{{ObjectSet(heap), ObjectSet(heap)}, {}};
  CHECK(count_unexplained(heap, found, ObjectSet(heap)) == 8);
  const RemoteAddr word = large;
  const RootWords stale{std::as_bytes(std::span(&word, 1)), Heap::From::Stack};
  const auto dropped = dropped_since_collection(heap, found, {&stale, 1}, 1);
  CHECK(dropped.count() == 6);  // two by the stale word, two entries and their objects
  CHECK(count_unexplained(heap, found, dropped) == 4);
  found.live.insert(heap.number(*heap.object_at((large + 1024).value)));
  CHECK(count_unexplained(heap, found, dropped) == 3);
}

}  // namespace
}  // namespace heapattach::boehm
