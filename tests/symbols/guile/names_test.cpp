#include "symbols/guile/names.h"

#include <doctest/doctest.h>

#include "symbols/guile/smobs.h"
#include "tests/symbols/guile/guile_heap.h"

namespace heapattach {
namespace {

TEST_CASE("Guile's first vtable shows the layout of structs") {
  GuileHeap of_30;
  REQUIRE(of_30.facts.has_value());
  CHECK(of_30.facts->slots_at == 8);
  CHECK_FALSE(of_30.facts->leads_to_slots);
  GuileHeap of_22(true);
  REQUIRE(of_22.facts.has_value());
  CHECK(of_22.facts->slots_at == 16);
  CHECK(of_22.facts->leads_to_slots);
}

TEST_CASE("a Guile that has not started is not recognised") {
  GuileHeap guile;
  guile.heap.fake.put(TypedHeap::kData, std::uint64_t{0});
  CHECK_FALSE(guile::facts_from(TypedHeap::kData, guile.heap.fake.memory()).has_value());
  guile.heap.fake.put(TypedHeap::kData, guile.pair(GuileHeap::number(1), GuileHeap::kEmpty));
  CHECK_FALSE(guile::facts_from(TypedHeap::kData, guile.heap.fake.memory()).has_value());
}

TEST_CASE("a pair is two values in sixteen bytes") {
  GuileHeap guile;
  const auto last = guile.pair(GuileHeap::number(-3), GuileHeap::kEmpty);
  const auto first = guile.pair(last, last);
  const auto nothing = guile.pair(0, GuileHeap::kEmpty);        // 0 is not a value
  const auto inside = guile.pair(last + 8, GuileHeap::kEmpty);  // nothing begins there
  const auto constant = guile.pair(0xff04, GuileHeap::kEmpty);  // there is no such constant
  const auto larger = guile.object({last, last}, 32);
  const auto atomic = guile.object({last, last}, 16, heap::kAtomic);
  guile.heap.join();
  CHECK(guile.type_at(last) == "pair");
  CHECK(guile.type_at(first) == "pair");
  CHECK(guile.heap.keys_at(RemoteAddr{first}) == "car cdr");
  CHECK(guile.type_at(nothing) == "(unknown)");
  CHECK(guile.type_at(inside) == "(unknown)");
  CHECK(guile.type_at(constant) == "(unknown)");
  CHECK(guile.type_at(larger) == "(unknown)");
  CHECK(guile.type_at(atomic) == "(unknown atomic)");
}

TEST_CASE("a vector has the number of elements in its tag, all of them values") {
  GuileHeap guile;
  const std::uint64_t tag = 7 << 8 | 0x0d;
  std::vector<std::uint64_t> words(8, GuileHeap::number(5));
  words[0] = tag;
  const auto vector = guile.object(words, 64);
  words[7] = 0;
  const auto with_none = guile.object(words, 64);
  const auto too_large = guile.object({tag}, 256);
  guile.heap.join();
  CHECK(guile.type_at(vector) == "vector");
  CHECK(guile.type_at(with_none) == "(unknown)");
  CHECK(guile.type_at(too_large) == "(unknown)");
}

TEST_CASE("strings and their buffers, of either width") {
  GuileHeap guile;
  const auto text = guile.buffer("kept");
  const auto string = guile.object({0x15, text, 0, 4}, 32);
  const auto wide = guile.object({0x427, 3}, 32, heap::kAtomic);     // 16 + 4 * 4
  const auto narrow = guile.object({0x27, 300}, 32, heap::kAtomic);  // has no room for that
  const auto no_atom = guile.object({0x27, 4}, 32);
  guile.heap.join();
  CHECK(guile.type_at(string) == "string");
  CHECK(guile.type_at(text) == "stringbuf");
  CHECK(guile.type_at(wide) == "stringbuf");
  CHECK(guile.type_at(narrow) == "(unknown atomic)");
  CHECK(guile.type_at(no_atom) == "(unknown)");
}

TEST_CASE("a record takes its name from its vtable, and so do its fields") {
  for (const bool is_22 : {false, true}) {
    CAPTURE(is_22);
    GuileHeap guile(is_22);
    const auto of_records = guile.make_vtable(guile.first_vtable(), "record-type", 14, 8);
    const auto fields =
        guile.pair(guile.symbol("id"), guile.pair(guile.symbol("user"), GuileHeap::kEmpty));
    const auto type = guile.make_vtable(of_records, "<session>", 2, 14, fields);
    std::vector<std::uint64_t> words{guile.struct_word(type)};
    const auto user = guile.symbol("somebody");
    const auto session = guile.object(words, is_22 ? 32 : 32);
    const std::uint64_t slots = session + (is_22 ? 16 : 8);
    if (is_22) guile.heap.fake.put(RemoteAddr{session + 8}, slots);
    guile.heap.fake.put(RemoteAddr{slots}, GuileHeap::number(9));
    guile.heap.fake.put(RemoteAddr{slots + 8}, user);
    guile.heap.join();
    CHECK(guile.type_at(session) == "<session>");
    CHECK(guile.heap.keys_at(RemoteAddr{session}).ends_with("user"));
    CHECK(guile.type_at(type) == "record-type");
  }
}

TEST_CASE("an object without a vtable is not a struct") {
  GuileHeap guile;
  const auto pair = guile.pair(GuileHeap::number(1), GuileHeap::kEmpty);
  const auto of_pair = guile.object({pair + 1, GuileHeap::number(1)}, 32);
  const auto of_nothing = guile.object({0x123451}, 32);
  const auto type = guile.make_vtable(guile.first_vtable(), "<tiny>", 1, 8);
  const auto too_large = guile.object({guile.struct_word(type)}, 256);
  guile.heap.join();
  CHECK(guile.type_at(of_pair) == "(unknown)");
  CHECK(guile.type_at(of_nothing) == "(unknown)");
  CHECK(guile.type_at(too_large) == "(unknown)");
}

TEST_CASE("the vector and the counts of a hash table are parts of it") {
  GuileHeap guile;
  const auto buckets = guile.object({1 << 8 | 0x0d, GuileHeap::kEmpty}, 16);
  const auto counts = guile.object({1, 2, 3, 4, 5}, 48, heap::kAtomic);
  const auto table = guile.object({0x1d, buckets, counts, 0}, 32);
  guile.heap.join();
  CHECK(guile.type_at(table) == "hash-table");
  CHECK(guile.type_at(buckets) == "(buckets of hash-table)");
  CHECK(guile.type_at(counts) == "(counts of hash-table)");
}

TEST_CASE("the entries of a weak table are found through its buckets, even in a circle") {
  GuileHeap guile;
  const auto second = guile.object({11, 0, 0, 0}, 32);
  const auto first = guile.object({12, second, 0, 0}, 32);
  guile.heap.fake.put(RemoteAddr{second + 8}, first);
  const auto buckets = guile.object({first, 0}, 16);
  const auto state = guile.object({buckets, 0, 0, 0, 0, 0, 0, 2}, 112);
  const auto table = guile.object({0x57, state}, 16);
  guile.heap.join();
  CHECK(guile.type_at(table) == "weak-table");
  CHECK(guile.type_at(state) == "(state of weak-table)");
  CHECK(guile.type_at(buckets) == "(buckets of weak-table)");
  CHECK(guile.type_at(first) == "(entry of weak-table)");
  CHECK(guile.type_at(second) == "(entry of weak-table)");
}

TEST_CASE("a smob takes its name from its type, and its data belongs to it") {
  GuileHeap guile;
  const RemoteAddr types = TypedHeap::kData + 512;
  const RemoteAddr name = TypedHeap::kData + 64;
  guile.heap.fake.put(name, std::uint64_t{0x6574656d6f73});  // "somete"
  guile.heap.fake.put(types + 3 * 64, name.value);
  guile.heap.fake.put(types + 3 * 64 + 8, std::uint64_t{24});
  guile.facts->smobs = types;
  guile.facts->smob_types = 4;
  const auto memory = guile.object({1, 2, 3, 4}, 48);
  const auto data = guile.object({memory, 0, 7, 8}, 32);
  const auto smob = guile.object({3 << 8 | 0x77, data}, 16);
  const auto unmade = guile.object({4 << 8 | 0x77, data}, 16);
  guile.heap.join();
  CHECK(guile.type_at(smob) == "somete");
  CHECK(guile.type_at(data) == "(data of somete)");
  CHECK(guile.type_at(memory) == "(memory of somete)");
  CHECK(guile.type_at(unmade) == "(unknown)");
}

TEST_CASE("a smob type is known to mark elsewhere if its objects have data outside the heap") {
  GuileHeap guile;
  const RemoteAddr types = TypedHeap::kData + 512;
  const RemoteAddr name = TypedHeap::kData + 64;
  const std::uint64_t outside = TypedHeap::kData.value + 128;
  guile.heap.fake.put(name, std::uint64_t{0x626f7247});  // "Grob"
  guile.heap.fake.put(types + 3 * 64, name.value);
  guile.heap.fake.put(types + 3 * 64 + 16, std::uint64_t{0x401000});
  guile.facts->smobs = types;
  guile.facts->smob_types = 4;
  std::uint64_t data = outside;
  std::uint64_t number = 3;
  std::vector<std::string> expected;
  SUBCASE("that is so") {
    expected = {"Grob"};
  }
  SUBCASE("the type has no function that marks") {
    number = 2;
  }
  SUBCASE("there is no such type") {
    number = 4;
  }
  SUBCASE("the data is in the heap") {
    data = guile.object({1, 2}, 16);
  }
  SUBCASE("there is no data") {
    data = 0;
  }
  SUBCASE("the data is no address") {
    data = outside + 3;
  }
  SUBCASE("the data is not mapped") {
    data = 0x10;
  }
  const auto smob = guile.object({number << 8 | 0x77, data}, 16);
  const CapturedHeap captured(guile.heap.fake);
  const heap::Heap& heap = captured.heap();
  heap::ObjectSet live(heap);
  const auto found = [&] {
    return guile::types_that_mark_elsewhere(*guile.facts, heap, live, guile.heap.fake.memory(),
                                            guile.heap.fake.map());
  };
  CHECK(found().empty());
  live.insert(heap.number(heap.object_at(smob).value()));
  CHECK(found() == expected);
}

TEST_CASE("numbers") {
  GuileHeap guile;
  const auto real = guile.object({0x217}, 16, heap::kAtomic);
  const auto big = guile.object({0x117, std::uint64_t{2} << 32, 0, 1, 2}, 48, heap::kAtomic);
  guile.heap.fake.put(RemoteAddr{big + 16}, big + 24);
  const auto too_big = guile.object({0x117, std::uint64_t{200} << 32, 0}, 48, heap::kAtomic);
  guile.heap.fake.put(RemoteAddr{too_big + 16}, too_big + 24);
  const auto half = guile.object({0x417, GuileHeap::number(1), GuileHeap::number(2), 0}, 32);
  guile.heap.join();
  CHECK(guile.type_at(real) == "flonum");
  CHECK(guile.type_at(big) == "bignum");
  CHECK(guile.type_at(too_big) == "(unknown atomic)");
  CHECK(guile.type_at(half) == "fraction");
}

}  // namespace
}  // namespace heapattach
