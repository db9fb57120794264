// Reads the references of Ruby's objects in hand-written memory.

#include "symbols/ruby/references.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/fakes/fake_ruby.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kFirst = 0x20000008;
constexpr std::uint64_t kSlotBytes = 40;
constexpr std::uint64_t kUser1 = 1U << 13;
constexpr std::uint64_t kUser2 = 1U << 14;
constexpr std::uint64_t kUser3 = 1U << 15;
constexpr std::uint64_t kSynchronize = 241 << 4;  // an ID that has a name in the fake

struct Read {
  ruby::Extent extent = ruby::Extent::Whole;
  std::vector<std::pair<std::string, std::uint64_t>> references;
};

Read references_of(const FakeRuby& ruby, std::uint64_t at) {
  const ruby::Values values(ruby.memory, ruby.machine.layout->values);
  ruby::ReferenceReader reader(ruby.machine, values, [](ruby::Value value) {
    return value >= kFirst && value < kFirst + 16000 && (value - kFirst) % kSlotBytes == 0;
  });
  std::vector<ruby::Reference> found;
  Read read;
  read.extent = reader.read(at, values.slot(at).value(), found);
  for (const auto& one : found) read.references.emplace_back(one.name, one.to);
  return read;
}

using Pairs = std::vector<std::pair<std::string, std::uint64_t>>;

}  // namespace

TEST_CASE(
    "the elements of a Ruby array are references in order, and a shared one has only its root") {
  FakeRuby ruby;
  const std::uint64_t text = ruby.string("text");
  const std::uint64_t list = ruby.array({text, 5, text});
  CHECK(references_of(ruby, list).references == Pairs{{"", text}, {"", 5}, {"", text}});
  const std::uint64_t in_slot = ruby.slot(7 | kUser1 | 2 * kUser3, 0);
  ruby.put(in_slot + 16, 5);
  ruby.put(in_slot + 24, text);
  CHECK(references_of(ruby, in_slot).references == Pairs{{"", 5}, {"", text}});
  const std::uint64_t shared = ruby.slot(7 | kUser2, 0);
  ruby.put(shared + 24, list);
  CHECK(references_of(ruby, shared).references == Pairs{{"shared", list}});
}

TEST_CASE("Ruby arrays have no more elements together than the process has words") {
  FakeRuby ruby;
  const std::uint64_t text = ruby.string("text");
  const std::uint64_t list = ruby.array({text, 5, text});
  const ruby::Values values(ruby.memory, ruby.machine.layout->values);
  ruby::ReferenceReader reader(ruby.machine, values, [](ruby::Value) { return true; });
  reader.allow(7);
  std::vector<ruby::Reference> found;
  const auto read = [&] {
    const ruby::Extent extent = reader.read(list, values.slot(list).value(), found);
    return std::pair(extent, found.size());
  };
  CHECK(read() == std::pair(ruby::Extent::Whole, std::size_t{3}));
  CHECK(read() == std::pair(ruby::Extent::Whole, std::size_t{3}));
  CHECK(read() == std::pair(ruby::Extent::Words, std::size_t{0}));
}

TEST_CASE("a Ruby object's references have the names of its variables") {
  FakeRuby ruby;
  const std::uint64_t index = ruby.take(16);
  ruby.put(index, 1);
  const std::uint64_t extension = ruby.word(ruby.session_class + 24);
  ruby.put(extension, ruby.table({{kSynchronize, index}}));
  const std::uint64_t text = ruby.string("text");
  const std::uint64_t object = ruby.slot(1 | kUser1, ruby.session_class);
  ruby.put(object + 16, text);
  ruby.put(object + 24, text);
  CHECK(references_of(ruby, object).references == Pairs{{"@?", text}, {"synchronize", text}});
  const std::uint64_t large = ruby.slot(1, ruby.session_class);
  const std::uint64_t variables = ruby.take(32);
  ruby.put(variables + 8, text);
  ruby.put(large + 16, 4);
  ruby.put(large + 24, variables);
  CHECK(references_of(ruby, large).references == Pairs{{"synchronize", text}});
}

TEST_CASE("since Ruby 3.2 the variables of an object have the names of its shape") {
  FakeRuby ruby("3.3.8");
  constexpr std::uint64_t kShape = std::uint64_t{7} << 32;  // the fake's shape with one variable
  const std::uint64_t text = ruby.string("text");
  const ruby::Values values(ruby.memory, ruby.machine.layout->values);
  ruby::ReferenceReader reader(ruby.machine, values, [](ruby::Value) { return false; });
  reader.use(ruby::Shapes::read(ruby.machine, ruby.memory), [](ruby::Value) { return 160; });
  std::vector<ruby::Reference> found;
  std::uint64_t object = ruby.slot(1 | kUser1 | kShape, ruby.session_class);
  ruby.put(object + 16, text);
  SUBCASE("in its slot") {}
  SUBCASE("in a buffer") {
    const std::uint64_t buffer = ruby.take(16);
    ruby.put(buffer, text);
    object = ruby.slot(1 | kShape, ruby.session_class);
    ruby.put(object + 16, buffer);
  }
  CHECK(reader.read(object, values.slot(object).value(), found) == ruby::Extent::Whole);
  REQUIRE(found.size() == 1);
  CHECK(found[0].to == text);
  CHECK(found[0].name == "@name");
  // If the shape does not exist, only words that are addresses of objects count as references.
  ruby.put(object, 1 | kUser1 | std::uint64_t{99'999} << 32);
  CHECK(reader.read(object, values.slot(object).value(), found) == ruby::Extent::Words);
  CHECK(found.empty());
}

TEST_CASE(
    "the variables of the fiber that a Ruby thread executes are references, with their names") {
  FakeRuby ruby;
  const std::uint64_t text = ruby.string("text");
  const std::uint64_t items = ruby.take(16);
  ruby.put(items, kSynchronize >> 4);
  ruby.put(items + 8, text);
  const std::uint64_t table = ruby.take(24);
  ruby.put(table, 1 | std::uint64_t{1} << 32);  // it has one place, which is used
  ruby.put(table + 8, 1);
  ruby.put(table + 16, items);
  const ruby::Layout& layout = *ruby.machine.layout;
  const std::uint64_t context = ruby.word(ruby.first_thread + layout.thread.context);
  ruby.put(context + layout.context.thread + 8, table);
  const ruby::Values values(ruby.memory, layout.values);
  ruby::ReferenceReader reader(ruby.machine, values, [](ruby::Value) { return false; });
  std::vector<ruby::Reference> found;
  reader.stack_of(context, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].to == text);
  CHECK(found[0].name == "[:synchronize]");
}

TEST_CASE("a Ruby hash references its keys, its values and its default, in both of its forms") {
  FakeRuby ruby;
  const std::uint64_t key = ruby.string("key");
  const std::uint64_t value = ruby.string("value");
  const std::uint64_t table = ruby.slot(8 | kUser3, 0);
  for (const bool has_bins : {true, false}) {
    ruby.put(table + 16, ruby.table({{key, value}, {3, value}}, has_bins));
    CHECK(references_of(ruby, table).references ==
          Pairs{{"key", key}, {"value", value}, {"value", value}});
  }
  ruby.put(table + 24, key);
  CHECK(references_of(ruby, table).references ==
        Pairs{{"key", key}, {"value", value}, {"value", value}, {"default", key}});
  const std::uint64_t small = ruby.slot(8 | 3U << 20, 0);
  const std::uint64_t pairs = ruby.take(128);
  ruby.put(pairs, 0x34);  // removed
  ruby.put(pairs + 8, value);
  ruby.put(pairs + 16, 5);
  ruby.put(pairs + 24, value);
  ruby.put(pairs + 32, key);
  ruby.put(pairs + 40, 5);
  ruby.put(small + 16, pairs);
  ruby.put(small + 24, 8);
  CHECK(references_of(ruby, small).references == Pairs{{"value", value}, {"key", key}});
}

TEST_CASE("what cannot be read of a Ruby object is said, and a wrong number takes no memory") {
  FakeRuby ruby;
  const std::uint64_t list = ruby.array({5});
  SUBCASE("an array of nothing that is there") {
    ruby.put(list + 32, 0x7000000);
  }
  SUBCASE("an array that is too long") {
    ruby.put(list + 16, std::uint64_t{1} << 40);
  }
  SUBCASE("an array that ends behind its memory") {
    ruby.put(list + 16, std::uint64_t{1} << 26);
  }
  const Read read = references_of(ruby, list);
  CHECK(read.extent == ruby::Extent::Words);
  CHECK(read.references.empty());
}

TEST_CASE("a Ruby hash whose numbers do not fit each other is not read, and takes no memory") {
  FakeRuby ruby;
  const std::uint64_t key = ruby.string("key");
  const std::uint64_t hash = ruby.slot(8 | kUser3, 0);
  const std::uint64_t table = ruby.table({{key, key}, {3, key}});
  ruby.put(hash + 16, table);
  REQUIRE(references_of(ruby, hash).extent == ruby::Extent::Whole);
  constexpr std::uint64_t kCount = 16;
  constexpr std::uint64_t kFirstEntry = 32;
  constexpr std::uint64_t kBound = 40;
  SUBCASE("more entries than there is room for") {
    ruby.put(table + kBound, 5);
  }
  SUBCASE("much more") {
    ruby.put(table + kBound, std::uint64_t{1} << 26);
  }
  SUBCASE("as much as there is room for, but no such memory") {
    ruby.put(table, 27);
    ruby.put(table + kBound, std::uint64_t{1} << 26);
  }
  SUBCASE("they end before they begin") {
    ruby.put(table + kFirstEntry, 3);
  }
  SUBCASE("more than are there") {
    ruby.put(table + kCount, 4);
  }
  SUBCASE("more than it counts") {
    // Each entry of the Hash is an object, and so is the memory after it.
    ruby.take(24 * 100);
    ruby.put(table, 7);
    ruby.put(table + kCount, 1);
    ruby.put(table + kBound, 20);
  }
  SUBCASE("a power that no table has") {
    ruby.put(table, 41);
  }
  const Read read = references_of(ruby, hash);
  CHECK(read.extent == ruby::Extent::Words);
  for (const auto& [name, to] : read.references) CHECK(name == "default");
}

TEST_CASE("Ruby hashes have no more entries together than the process has words") {
  FakeRuby ruby;
  const std::uint64_t key = ruby.string("key");
  const std::uint64_t hash = ruby.slot(8 | kUser3, 0);
  ruby.put(hash + 16, ruby.table({{key, key}, {3, key}}));
  const ruby::Values values(ruby.memory, ruby.machine.layout->values);
  ruby::ReferenceReader reader(ruby.machine, values, [](ruby::Value) { return true; });
  reader.allow(15);  // each reading takes six, so three are left in the end
  std::vector<ruby::Reference> found;
  const auto read = [&] { return reader.read(hash, values.slot(hash).value(), found); };
  CHECK(read() == ruby::Extent::Whole);
  CHECK(read() == ruby::Extent::Whole);
  CHECK(read() == ruby::Extent::Words);
  CHECK(found.empty());
}

TEST_CASE("a Ruby shape with more variables than it derives from has no known names") {
  FakeRuby ruby("3.3.8");
  constexpr std::uint64_t kShape = 7;  // the fake's shape with one variable
  const std::uint64_t text = ruby.string("text");
  const std::uint64_t object = ruby.slot(1 | kUser1 | kShape << 32, ruby.session_class);
  ruby.put(object + 16, text);
  const auto& form = ruby.machine.layout->shape;
  const std::uint64_t at = ruby.machine.shapes + kShape * form.bytes + form.index;
  ruby.put(at, (ruby.word(at) & ~std::uint64_t{0xffffffff}) | 4000);
  auto shapes = ruby::Shapes::read(ruby.machine, ruby.memory);
  const ruby::Values values(ruby.memory, ruby.machine.layout->values);
  CHECK(shapes.fields_of(values.slot(object).value()) == nullptr);
}

TEST_CASE("a structure of C code has the words that are objects, and is known only in part") {
  FakeRuby ruby;
  const std::uint64_t text = ruby.string("text");
  const std::uint64_t type = ruby.take(32);
  ruby.put(type, type + 16);
  ruby.put(type + 8, 0x5000);
  const std::uint64_t block = ruby.take(64);
  ruby.put(block + 8, 48 | 1);  // the length of what follows, as malloc() keeps it
  ruby.put(block + 32, text);
  const std::uint64_t data = ruby.slot(12, ruby.session_class);
  ruby.put(data + 16, type);
  ruby.put(data + 24, 1);
  ruby.put(data + 32, block + 16);
  const Read read = references_of(ruby, data);
  CHECK(read.extent == ruby::Extent::Words);
  CHECK(read.references == Pairs{{"structure", text}});
  // Without a function that marks it, the object references nothing.
  ruby.put(type + 8, 0);
  CHECK(references_of(ruby, data).extent == ruby::Extent::Whole);
  CHECK(references_of(ruby, data).references.empty());
}

TEST_CASE("a structure of C code has its type where the release keeps it") {
  constexpr std::uint64_t kAt = 0x20000008;
  constexpr std::uint64_t kType = 0x7000;
  constexpr std::uint64_t kBlock = 0x8000;
  constexpr std::uint64_t kFunction = 0x9000;
  ruby::ValueForm form;
  const auto check = [&](const std::vector<std::uint64_t>& words, std::uint64_t type,
                         std::uint64_t structure) {
    ruby::Slot slot;
    slot.words[0] = 12;
    std::copy(words.begin(), words.end(), slot.words.begin() + 2);
    CHECK(slot.data_type(form) == type);
    CHECK(slot.data(kAt, form) == structure);
  };
  SUBCASE("until 3.4, in the word before its flags") {
    check({kType, 1, kBlock}, kType, kBlock);
    check({kType, 3, kBlock}, kType, kAt + 32);
    check({0, kFunction, kBlock}, 0, kBlock);
    check({kFunction, 0, kBlock}, 0, kBlock);
  }
  SUBCASE("since 4.0, in the word with its flag") {
    form.has_fields = true;
    check({0, kType, kBlock}, kType, kBlock);
    check({0, kType | 1, kBlock}, kType, kAt + 32);
    check({0, 0, kBlock}, 0, kBlock);
  }
}

}  // namespace heapattach
