#include "symbols/crystal/header_check.h"

#include <cstring>

#include <doctest/doctest.h>

namespace heapattach::crystal {

namespace {

TypeTable table() {
  const auto type = [](std::uint32_t id, std::string name, std::optional<std::uint64_t> bytes,
                       std::optional<bool> is_atomic) {
    Type made;
    made.id = id;
    made.name = std::move(name);
    made.instance_bytes = bytes;
    made.is_atomic = is_atomic;
    made.known_from = {KnownFrom::AllocationSite};
    return made;
  };
  TypeTable types;
  types.add(type(1, "String", std::nullopt, true));
  types.add(type(7, "Session", 24, false));
  types.add(type(8, "Tag", 12, true));
  types.add(type(15, "Channel", 744, false));
  types.add(type(9, "Listed", std::nullopt, std::nullopt));
  types.add(type(11, "WeakRef(Session)", 16, false));
  types.add(type(12, "WeakRef(Tag)", std::nullopt, std::nullopt));
  types.add(type(13, "Array(Tag)", 24, false));
  Type weak = type(14, "WeakRef(String)", 16, false);
  weak.fields = {{"@target", "Pointer(Void)", 8, 8}};
  types.add(weak);
  Type fields = type(10, "Gap", 24, false);
  fields.fields = {{"@flag", "Bool", 4, 1}, {"@user", "User", 8, 8}};
  types.add(fields);
  return types;
}

// An object of 32-bit words.
struct Object {
  heap::Block block;
  std::vector<std::byte> contents;

  Object(std::uint64_t bytes, bool is_atomic, const std::vector<std::uint32_t>& words)
      : contents(bytes) {
    block.object_bytes = bytes;
    block.objects = 1;
    block.kind = is_atomic ? heap::kAtomic : heap::kNormal;
    std::memcpy(contents.data(), words.data(), words.size() * 4);
  }
  Object& with(std::size_t at, std::string_view text) {
    std::memcpy(contents.data() + at, text.data(), text.size());
    return *this;
  }
};

constexpr bool kAtomic = true;
constexpr bool kNormal = false;

std::string named(const Object& object) {
  const TypeTable types = table();
  const HeaderCheck check(types);
  const Type* type = check.type_of(object.block, object.contents);
  return type == nullptr ? "" : type->name;
}

}  // namespace

TEST_CASE("an instance is recognised by its id") {
  CHECK(named(Object(32, kNormal, {7, 0, 5, 6, 7, 8})) == "Session");
  CHECK(named(Object(16, kAtomic, {8, 3, 4, 0xdeadbeef})) == "Tag");
  CHECK(named(Object(64, kNormal, {9, 1, 2, 3, 4, 5, 6, 7, 8})) == "Listed");
}

TEST_CASE("memory of malloc is never an instance") {
  Object session(32, kNormal, {7, 0, 5, 6, 7, 8});
  session.block.flags = heap::kChunk;
  CHECK(named(session).empty());
}

TEST_CASE("an array larger than its buffer counts only if contents have no numbers") {
  const Object array(32, kNormal, {13, 2, 0, 0, 0x1000, 0x7f00});  // it has a size, but no capacity
  CHECK(named(array).empty());
  const TypeTable types = table();
  const Type* type = HeaderCheck(types, false).type_of(array.block, array.contents);
  REQUIRE(type != nullptr);
  CHECK(type->name == "Array(Tag)");
}

TEST_CASE("a weak reference is allocated without pointers, whatever its fields are") {
  CHECK(named(Object(32, kAtomic, {11, 0, 0x1000, 0x7f00})) == "WeakRef(Session)");
  CHECK(named(Object(32, kNormal, {11, 0, 0x1000, 0x7f00})).empty());
}

TEST_CASE("a weak reference is not zeroed when it is made") {
  CHECK(named(Object(32, kAtomic, {14, 0xdeadbeef, 0x1000, 0x7f00})) == "WeakRef(String)");
  CHECK(named(Object(32, kAtomic, {12, 0xdeadbeef, 0x1000, 0x7f00})) == "WeakRef(Tag)");
  CHECK(named(Object(32, kNormal, {12, 0, 0x1000, 0x7f00})).empty());
}

TEST_CASE("an array has room for its elements, and a buffer once it has any") {
  CHECK(named(Object(32, kNormal, {13, 0, 0, 0, 0, 0})) == "Array(Tag)");
  CHECK(named(Object(32, kNormal, {13, 2, 4, 0, 0x1000, 0x7f00})) == "Array(Tag)");
  CHECK(named(Object(32, kNormal, {13, 0, 0, 4, 0x1000, 0x7f00})) == "Array(Tag)");  // shifted out
  CHECK(named(Object(32, kNormal, {13, 0, 4, 0, 0, 0})) == "Array(Tag)");  // about to get a buffer
  CHECK(named(Object(32, kNormal, {13, 5, 4, 0, 0x1000, 0x7f00})).empty());
  // Not arrays, but the data of closures: a number, and a captured object.
  CHECK(named(Object(32, kNormal, {13, 0, 0x1000, 0x7f00, 0, 0})).empty());
  CHECK(named(Object(32, kNormal, {13, 0, 0xf0001000, 0x7f00, 0x1000, 0x7f00})).empty());
}

TEST_CASE("an instance may be in any slot that the collector uses for its size") {
  CHECK(named(Object(752, kNormal, {15, 0, 5, 6})) == "Channel");
  CHECK(named(Object(1024, kNormal, {15, 0, 5, 6})) == "Channel");  // 856 bytes came first
  CHECK(named(Object(1344, kNormal, {15, 0, 5, 6})).empty());       // made for 780 and more
  Object other(1024, kNormal, {15, 0, 5, 6});
  CHECK(named(other.with(1000, "x")).empty());  // something past its end
}

TEST_CASE("an id alone does not make an instance") {
  CHECK(named(Object(32, kNormal, {6})).empty());                    // no such type
  CHECK(named(Object(32, kNormal, {0x80000007})).empty());           // negative
  CHECK(named(Object(32, kAtomic, {7})).empty());                    // the wrong kind
  CHECK(named(Object(16, kNormal, {7})).empty());                    // too small
  CHECK(named(Object(128, kNormal, {7})).empty());                   // far too large
  CHECK(named(Object(32, kNormal, {7, 0, 0, 0, 0, 0, 1})).empty());  // something past its end
  Object uncollectable(32, kNormal, {7});
  uncollectable.block.kind = heap::kUncollectable;
  CHECK(named(uncollectable).empty());
  Object unreadable(32, kNormal, {7});
  unreadable.contents.clear();
  CHECK(named(unreadable).empty());
}

TEST_CASE("bytes outside all fields must be zero") {
  CHECK(named(Object(32, kNormal, {10, 1, 5, 6})) == "Gap");
  CHECK(named(Object(32, kNormal, {10, 0x100, 5, 6})).empty());
  CHECK(named(Object(32, kNormal, {10, 1, 5, 6, 1})).empty());
}

TEST_CASE("a String has a length, a NUL and no more room than it needs") {
  CHECK(named(Object(32, kAtomic, {1, 5, 0}).with(12, "hello")) == "String");
  CHECK(named(Object(32, kAtomic, {1, 5, 5}).with(12, "hello\0junk")) == "String");
  CHECK(named(Object(32, kAtomic, {1, 6, 4}).with(12, "h\xc3\xa9\xc3\xa9!")) == "String");
  CHECK(named(Object(16, kAtomic, {1, 0, 0})) == "String");
  CHECK(named(Object(32, kAtomic, {1, 5, 6}).with(12, "hello")).empty());   // too many characters
  CHECK(named(Object(32, kAtomic, {1, 4, 0}).with(12, "hello")).empty());   // no NUL
  CHECK(named(Object(32, kAtomic, {1, 20, 0}).with(12, "hello")).empty());  // runs out of it
  CHECK(named(Object(32, kAtomic, {1, ~0U, 0})).empty());                   // wraps
  CHECK(named(Object(256, kAtomic, {1, 5, 5}).with(12, "hello")).empty());  // too much room
  CHECK(named(Object(32, kNormal, {1, 5, 5}).with(12, "hello")).empty());   // not atomic
  // Numbers that look like ids: {1, 0}, {1, 0}, … and {1}, {1}, …
  CHECK(named(Object(64, kAtomic, {1, 0, 1, 0, 1, 0, 1})).empty());
  CHECK(named(Object(64, kAtomic, {1, 1, 1, 1, 1, 1, 1})).empty());
}

TEST_CASE("a long String of which only the beginning was copied is recognised") {
  Object text(8192, kAtomic, {1, 8000, 0});
  text.contents.resize(4096);
  CHECK(named(text) == "String");
}

TEST_CASE("containers show where their buffers are") {
  const auto offsets = [](std::string name, std::optional<std::uint64_t> bytes) {
    Type type;
    type.name = std::move(name);
    type.instance_bytes = bytes;
    std::vector<std::uint32_t> all;
    for (const BufferPointer& pointer : buffer_pointers(type)) all.push_back(pointer.offset);
    return all;
  };
  CHECK(offsets("Array(Int32)", 24) == std::vector<std::uint32_t>{16});
  CHECK(offsets("Array(Int32)", std::nullopt) == std::vector<std::uint32_t>{16});
  CHECK(offsets("Array(Int32)", 32).empty());
  CHECK(offsets("Hash(String, Int32)", 56) == std::vector<std::uint32_t>{8, 16, 48});
  CHECK(offsets("Session", 24).empty());
}

TEST_CASE("fields show where buffers are") {
  Type type;
  type.name = "Holder";
  type.fields = {{"@raw", "Pointer(Int32)", 8, 8},
                 {"@any", "Pointer(Void)", 16, 8},
                 {"@block", "Proc(Nil)", 24, 16},
                 {"@maybe", "(Proc(Nil) | Nil)", 40, 16},
                 {"@slice", "(Slice(UInt8) | Nil)", 56, 24},
                 {"@user", "User", 80, 8},
                 {"@odd", "Pointer(Int32)", 91, 8}};
  std::vector<std::uint32_t> all;
  for (const BufferPointer& pointer : buffer_pointers(type)) {
    CHECK_FALSE(pointer.may_be_inside);
    all.push_back(pointer.offset);
  }
  CHECK(all == std::vector<std::uint32_t>{8, 32, 48, 72});
}

TEST_CASE("a type without a name may be an Array, and its objects show it") {
  Type type;
  type.instance_bytes = 24;
  type.is_atomic = false;
  REQUIRE(buffer_pointers(type).size() == 1);
  CHECK(buffer_pointers(type)[0].offset == 16);
  CHECK(buffer_pointers(type)[0].only_if_array);
  type.is_atomic = true;
  CHECK(buffer_pointers(type).empty());

  const auto is_array = [](std::vector<std::uint32_t> words, std::uint64_t buffer_bytes) {
    return looks_like_array(Object(32, kNormal, words).contents, buffer_bytes);
  };
  CHECK(is_array({7, 3, 4, 0, 0x1000}, 32));
  CHECK(is_array({7, 3, 4, 2, 0x1008}, 32));
  CHECK_FALSE(is_array({7, 5, 4, 0, 0x1000}, 32));              // more than fits
  CHECK_FALSE(is_array({7, 0, 0, 0, 0x1000}, 32));              // no room at all
  CHECK_FALSE(is_array({7, 3, 40, 0, 0x1000}, 32));             // a smaller buffer
  CHECK_FALSE(is_array({7, 0, 0x94cdf5e0, 0x7f, 0x1000}, 32));  // a pointer
}

}  // namespace heapattach::crystal
