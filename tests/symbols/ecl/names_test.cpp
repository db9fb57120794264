#include "symbols/ecl/names.h"

#include <doctest/doctest.h>

#include "symbols/ecl/environments.h"
#include "tests/symbols/ecl/ecl_heap.h"

namespace heapattach {
namespace {

using ecl::Later;

TEST_CASE("ECL's own table has the sizes of its types") {
  for (const std::uint64_t entry : {24U, 32U}) {
    CAPTURE(entry);
    EclHeap ecl;
    FakeMemory& memory = ecl.heap.fake.memory();
    const RemoteAddr table = TypedHeap::kData + 64;
    for (std::uint64_t type = ecl::kBignum; type < ecl.facts.sizes.size(); ++type) {
      memory.put(table + type * entry, std::uint64_t{ecl.facts.sizes[type]});
      memory.put(table + type * entry + (entry - 8), type);
    }
    CHECK(ecl::read_sizes(table, memory) == ecl.facts.sizes);
    CHECK(ecl::are_known_types(ecl.facts));
    CHECK(ecl::read_sizes(table + 8, memory).empty());
    CHECK(ecl::read_sizes(RemoteAddr{16}, memory).empty());
  }
}

TEST_CASE("types of another release are not guessed") {
  EclHeap ecl;
  ecl::Facts more = ecl.facts;
  more.sizes.insert(more.sizes.end(), {24, 24});
  CHECK_FALSE(ecl::are_known_types(more));
  ecl::Facts other = ecl.facts;
  other.sizes[EclHeap::type(Later::kInstance)] = 72;
  CHECK_FALSE(ecl::are_known_types(other));
}

TEST_CASE("a value with a cons tag refers to a cons") {
  EclHeap ecl;
  const auto last = ecl.cons(EclHeap::number(1), EclHeap::kNil);
  const auto first = ecl.cons(EclHeap::number(2), last);
  const auto of_no_values = ecl.cons(0x77771, EclHeap::kNil);
  const auto nobodys = ecl.cons(EclHeap::number(3), EclHeap::kNil);
  ecl.cons(first, of_no_values);
  ecl.heap.join();
  CHECK(ecl.type_at(last - 1) == "cons");
  CHECK(ecl.type_at(first - 1) == "cons");
  CHECK(ecl.heap.keys_at(RemoteAddr{first - 1}) == "cdr");
  CHECK(ecl.type_at(of_no_values - 1) == "(unknown)");
  CHECK(ecl.type_at(nobodys - 1) == "(unknown)");
}

TEST_CASE("an object's type must fit its size, its kind and its words") {
  EclHeap ecl;
  const auto vector = EclHeap::type(Later::kVector);
  const auto elements = ecl.object({EclHeap::number(1), EclHeap::kNil}, 16);
  const auto good = ecl.object({vector, EclHeap::kNil, 2, 2, elements}, 48);
  const auto too_large = ecl.object({vector, EclHeap::kNil, 2, 2, elements}, 128);
  const auto with_more = ecl.object({vector | 1ULL << 40, EclHeap::kNil, 2, 2, elements}, 48);
  const auto no_value = ecl.object({vector, 0x777771, 2, 2, elements}, 48);
  const auto symbol = ecl.object({EclHeap::type(Later::kSymbol)}, 64, heap::kAtomic);
  ecl.heap.join();
  CHECK(ecl.type_at(good) == "vector");
  CHECK(ecl.type_at(elements) == "(elements of vector)");
  CHECK(ecl.type_at(too_large) == "(unknown)");
  CHECK(ecl.type_at(with_more) == "(unknown)");
  CHECK(ecl.type_at(no_value) == "(unknown)");
  CHECK(ecl.type_at(symbol) == "(unknown atomic)");
}

TEST_CASE("a string may have its text after it, and then points to it") {
  EclHeap ecl;
  const auto string = EclHeap::type(Later::kBaseString);
  const auto inside = ecl.object({string, 0, 20, 20, 0}, 64, heap::kAtomic);
  ecl.heap.fake.put(RemoteAddr{inside + 32}, inside + 40);
  const auto elsewhere = ecl.object({string, 0, 20, 20, 0x1234}, 64, heap::kAtomic);
  ecl.heap.join();
  CHECK(ecl.type_at(inside) == "base-string");
  CHECK(ecl.type_at(elsewhere) == "(unknown atomic)");
}

TEST_CASE("an instance takes its name from its class, and so do its slots") {
  EclHeap ecl;
  const auto session = ecl.make_class("SESSION");
  const auto names = ecl.cons(ecl.symbol("ID"), ecl.cons(ecl.symbol("USER"), EclHeap::kNil));
  const auto user = ecl.symbol("SOMEBODY");
  const auto one = ecl.instance(session, {EclHeap::number(4), user}, names);
  const auto no_class = ecl.instance(user, {EclHeap::number(4), user}, names);
  ecl.heap.join();
  CHECK(ecl.type_at(one) == "SESSION");
  CHECK(ecl.heap.keys_at(RemoteAddr{one}) == "class slot-definitions slots");
  CHECK(ecl.type_at(no_class) == "(unknown)");
}

TEST_CASE(
    "memory that an object claims as its contents is not an object, whatever it starts with") {
  EclHeap ecl;
  // This object looks like a symbol, but contains the elements of an array.
  const std::vector<std::uint64_t> words(8, EclHeap::kNil);
  const auto contents = ecl.object(words, 64);
  ecl.heap.fake.put(RemoteAddr{contents}, EclHeap::type(Later::kSymbol));
  const auto vector =
      ecl.object({EclHeap::type(Later::kVector), EclHeap::kNil, 8, 8, contents}, 48);
  ecl.heap.join();
  CHECK(ecl.type_at(vector) == "vector");
  CHECK(ecl.type_at(contents) == "(elements of vector)");
}

TEST_CASE("ECL's thread data is found from its process, and so are its stacks") {
  EclHeap ecl;
  const RemoteAddr environment = TypedHeap::kData;
  const auto process = ecl.object(
      {EclHeap::type(Later::kProcess), 1, 1, 1, environment.value, 1, 1, 1, 1, 1, 1, 1, 1}, 128);
  // Frames have 232 bytes, and the third frame is the last one in use.
  const auto frames = ecl.object({}, 8192, heap::kAtomic);
  const std::vector<std::uint64_t> words{process,          35, 30, frames, frames + 2 * 232,
                                         frames + 30 * 232};
  for (std::size_t i = 0; i < words.size(); ++i) ecl.heap.fake.put(environment + i * 8, words[i]);
  const auto other = ecl.object({EclHeap::type(Later::kProcess), 1, 1, 1, environment.value}, 128);
  ecl.heap.join();
  const auto found =
      ecl::environments(ecl.facts, ecl.heap.captured->index().blocks, ecl.heap.captured->capture());
  REQUIRE(found.size() == 1);
  CHECK(found[0].range == Range{environment, 4096});
  REQUIRE(found[0].stacks.size() == 1);
  CHECK(found[0].stacks[0] == Range{RemoteAddr{frames}, 3 * 232});
  CHECK(ecl.type_at(frames) == "(stack of process)");
  CHECK(ecl.type_at(process) == "process");
  CHECK(ecl.type_at(other) == "process");
}

}  // namespace
}  // namespace heapattach
