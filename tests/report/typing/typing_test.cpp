#include "report/typing/typing.h"

#include <doctest/doctest.h>

#include "tests/support/typed_heap.h"

namespace heapattach::snapshot {
namespace {

// A heap with an Array as the compiler lays it out, and a String.
struct CrystalHeap : TypedHeap {
  static constexpr std::uint32_t kArray = 7;
  static constexpr std::uint32_t kNumbers = 8;
  static constexpr std::uint32_t kString = 1;

  CrystalHeap() {
    int32 = build.number("Int32", 4);
    string = build.klass("String", 16);
    array("Array(String)", kArray, build.reference(string));
    array("Array(Int32)", kNumbers, int32);
    add_class(kString, "String", 12, true);
  }

  void array(const std::string& name, std::uint32_t id, types::TypeRef element) {
    build.klass(name, 24,
                {{"@size", 4, int32},
                 {"@capacity", 8, int32},
                 {"@offset_to_buffer", 12, int32},
                 {"@buffer", 16, build.buffer(element)}});
    add_class(id, name, 24);
  }

  RemoteAddr text(const char* value, std::uint32_t bytes) {
    const RemoteAddr at = instance(kString, 32, heap::kAtomic);
    fake.put(at + 4, bytes);
    fake.put(at + 8, bytes);
    for (std::uint32_t i = 0; i < bytes; ++i) fake.put(at + 12 + i, value[i]);
    return at;
  }

  RemoteAddr array_of(std::uint32_t id, RemoteAddr buffer) {
    const RemoteAddr at = instance(id, 32);
    fake.put(at + 4, std::uint32_t{2});
    fake.put(at + 8, std::uint32_t{4});
    fake.put(at + 16, buffer);
    return at;
  }

  types::TypeRef int32 = 0;
  types::TypeRef string = 0;
};

TEST_CASE("the buffer of an array is named after it, and its elements are numbered") {
  CrystalHeap heap;
  const RemoteAddr a = heap.text("a", 1);
  const RemoteAddr buffer = heap.object(64);
  heap.fake.put(buffer, a);
  heap.fake.put(buffer + 24, a);
  const RemoteAddr array = heap.array_of(CrystalHeap::kArray, buffer);
  SUBCASE("") {}
  SUBCASE("also after a shift, which moves the pointer inside") {
    heap.fake.put(array + 16, buffer + 16);
  }
  heap.join();
  CHECK(heap.type_at(array) == "Array(String)");
  CHECK(heap.keys_at(array) == "@buffer");
  CHECK(heap.type_at(buffer) == "(buffer of Array(String))");
  CHECK(heap.row_at(buffer).holder == "Array(String)");
  CHECK(heap.keys_at(buffer) == "[0] [3]");
  CHECK(heap.type_at(a) == "String");
  CHECK(heap.conflicts == 0);
}

TEST_CASE("numbers in a buffer and in fields are not edges, whatever they look like") {
  CrystalHeap heap;
  const RemoteAddr a = heap.text("a", 1);
  const RemoteAddr buffer = heap.object(32, heap::kAtomic);
  const auto number = heap.build.number("UInt64", 8);
  heap.build.klass("Box", 24,
                   {{"@address", 8, number}, {"@text", 16, heap.build.reference(heap.string)}});
  heap.add_class(9, "Box", 24);
  const RemoteAddr box = heap.instance(9, 32);
  heap.fake.put(box + 8, a);
  heap.fake.put(box + 16, a);
  heap.fake.put(buffer, a);
  heap.array_of(CrystalHeap::kNumbers, buffer);
  heap.join();
  CHECK(heap.type_at(buffer) == "(buffer of Array(Int32))");
  CHECK(heap.keys_at(buffer).empty());
  CHECK(heap.keys_at(box) == "@text");
}

TEST_CASE("a buffer of the wrong kind is ignored") {
  CrystalHeap heap;
  const RemoteAddr buffer = heap.object(64);  // a buffer of numbers would be atomic
  heap.array_of(CrystalHeap::kNumbers, buffer);
  const RemoteAddr atomic = heap.object(64, heap::kAtomic);
  heap.array_of(CrystalHeap::kArray, atomic);
  heap.join();
  CHECK(heap.type_at(buffer) == "(unknown)");
  CHECK(heap.type_at(atomic) == "(unknown atomic)");
  CHECK(heap.conflicts == 2);
}

TEST_CASE("numbers that a C library keeps in scanned memory are its holder's buffer") {
  CrystalHeap heap;
  const auto number = heap.build.number("UInt64", 8);
  heap.build.klass("BigNumber", 16, {{"@limbs", 8, heap.build.buffer(number)}});
  heap.add_class(9, "BigNumber", 16);
  const RemoteAddr limbs = heap.object(64);
  const RemoteAddr big = heap.instance(9, 32);
  heap.fake.put(big + 8, limbs);
  heap.join();
  CHECK(heap.type_at(limbs) == "(buffer of BigNumber)");
}

TEST_CASE("what only an instance with unknown fields references is named after it, recursively") {
  CrystalHeap heap;
  heap.add_class(9, "Holder", 24);
  const RemoteAddr inner = heap.object(64, heap::kAtomic);
  const RemoteAddr outer = heap.object(48);
  const RemoteAddr text = heap.text("a", 1);
  const RemoteAddr holder = heap.instance(9, 32);
  const RemoteAddr behind = heap.object(96);
  heap.fake.put(holder + 16, outer);
  heap.fake.put(outer + 8, inner);
  heap.fake.put(outer + 16, text);
  heap.fake.put(inner + 8, behind);  // a number: atomic objects hold no pointers
  heap.join();
  CHECK(heap.type_at(outer) == "(unnamed, in a Holder)");
  CHECK(heap.type_at(inner) == "(unnamed, in a Holder)");
  CHECK(heap.type_at(text) == "String");
  CHECK(heap.type_at(behind) == "(unknown)");
}

TEST_CASE("the data of a closure is not an instance, whatever number it begins with") {
  CrystalHeap heap;
  constexpr RemoteAddr kCode{0x401000};
  heap.code = {{kCode, 4096}};
  heap.add_class(9, "Callback", 24);
  heap.add_class(10, "Small", 16);
  const RemoteAddr data = heap.object(32);
  heap.fake.put(data, std::uint32_t{10});  // a local variable, captured
  const RemoteAddr small = heap.instance(10, 32);
  const RemoteAddr callback = heap.instance(9, 32);
  heap.fake.put(callback + 8, kCode + 0x40);
  heap.fake.put(callback + 16, data);
  heap.join();
  CHECK(heap.type_at(callback) == "Callback");
  CHECK(heap.type_at(small) == "Small");
  CHECK(heap.type_at(data) == "(unnamed, in a Callback)");
}

TEST_CASE("entries of a hash are keyed by key and value") {
  CrystalHeap heap;
  const auto uint32 = heap.build.number("UInt32", 4);
  const auto reference = heap.build.reference(heap.string);
  const auto pair = heap.build.structure("Tuple(String, Int32)", 16,
                                         {{"[0]", 0, reference}, {"[1]", 8, heap.int32}});
  const auto entry =
      heap.build.structure("Hash::Entry(String, Tuple(String, Int32))", 32,
                           {{"@hash", 0, uint32}, {"@key", 8, reference}, {"@value", 16, pair}});
  heap.build.klass("Hash(String, Tuple(String, Int32))", 56,
                   {{"@first", 4, heap.int32},
                    {"@entries", 8, heap.build.buffer(entry)},
                    {"@indices", 16, heap.build.buffer(heap.build.number("UInt8", 1))},
                    {"@block", 40, heap.build.structure("Proc(String, Int32)", 16)}});
  heap.add_class(9, "Hash(String, Tuple(String, Int32))", 56);
  const RemoteAddr hash = heap.instance(9, 64);
  const RemoteAddr entries = heap.object(80);  // two entries, and half of a third
  const RemoteAddr indices = heap.object(16, heap::kAtomic);
  const RemoteAddr closure = heap.object(16);
  const RemoteAddr key = heap.text("k", 1);
  heap.fake.put(hash + 8, entries);
  heap.fake.put(hash + 16, indices);
  heap.fake.put(hash + 48, closure);
  for (const std::uint64_t at : {8U, 16U, 40U, 48U, 72U}) heap.fake.put(entries + at, key);
  heap.fake.put(entries + 24, key);  // in place of the number
  heap.join();
  CHECK(heap.keys_at(hash) == "@entries @indices @block");
  CHECK(heap.type_at(entries) == "(buffer of Hash(String, Tuple(String, Int32)))");
  CHECK(heap.keys_at(entries) == "[0].key [0].value[0] [1].key [1].value[0]");
  CHECK(heap.type_at(indices) == heap.type_at(entries));
  CHECK(heap.type_at(closure) == "(closure of Proc(String, Int32))");
}

TEST_CASE("a header beats a pointer's claim") {
  CrystalHeap heap;
  const RemoteAddr a = heap.text("a", 1);
  heap.global("text", heap.build.pointer(heap.build.structure("struct other", 24)), 0, a);
  heap.join();
  CHECK(heap.type_at(a) == "String");
}

TEST_CASE("without fields a container's buffer still has a name, and is conservative") {
  CrystalHeap heap;
  heap.add_class(9, "Deque(String)", 24);
  const RemoteAddr a = heap.text("a", 1);
  const RemoteAddr buffer = heap.object(64);
  heap.fake.put(buffer + 8, a);
  const RemoteAddr deque = heap.instance(9, 32);
  heap.fake.put(deque + 16, buffer);
  heap.join();
  CHECK(heap.keys_at(deque) == "+16");
  CHECK(heap.type_at(buffer) == "(buffer of Deque(String))");
  CHECK(heap.keys_at(buffer) == "+8");
}

TEST_CASE("fields that do not add up to an instance's size are ignored") {
  CrystalHeap heap;
  heap.build.klass("Session", 40, {{"@user", 8, heap.build.reference(heap.string)}});
  heap.add_class(9, "Session", 24);
  const RemoteAddr a = heap.text("a", 1);
  const RemoteAddr session = heap.instance(9, 32);
  heap.fake.put(session + 8, a);
  heap.join();
  CHECK(heap.type_at(session) == "Session");
  CHECK(heap.keys_at(session) == "+8");
}

TEST_CASE("a weak reference, which the collector does not scan, is named after its holder") {
  CrystalHeap heap;
  const auto weak = heap.build.klass(
      "WeakRef(String)", 16, {{"@target", 8, heap.build.buffer(heap.build.opaque("Void"))}});
  heap.build.klass("Holder", 16, {{"@weak", 8, heap.build.reference(weak)}});
  heap.add_class(9, "Holder", 16);
  const RemoteAddr object = heap.instance(77, 32, heap::kAtomic);
  const RemoteAddr holder = heap.instance(9, 32);
  heap.fake.put(holder + 8, object);
  heap.join();
  CHECK(heap.type_at(object) == "WeakRef(String)");
}

TEST_CASE("the fields of a class use the program's own type names") {
  CrystalHeap heap;
  const auto user = heap.build.klass("User", 16);
  const auto values = heap.build.any_of("(value of Int32 | String)", 8, {{"Int32", 0, heap.int32}});
  const auto any = heap.build.structure("(Int32 | String)", 16,
                                        {{"type_id", 0, heap.int32}, {"union", 8, values}});
  heap.build.klass("Holder", 32, {{"@user", 8, heap.build.reference(user)}, {"@any", 16, any}});
  heap.add_class(9, "Holder", 32);
  const RemoteAddr holder = heap.instance(9, 48);
  heap.join();
  const auto& fields = heap.row_at(holder).fields;
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].type == "User");
  CHECK(fields[1].name == "@any");
  CHECK(fields[1].type == "(Int32 | String)");
}

TEST_CASE("an instance whose id has no name is named by the field that references it") {
  CrystalHeap heap;
  const auto tag = heap.build.klass("Tag", 24, {{"@text", 8, heap.build.reference(heap.string)}});
  heap.build.klass("Holder", 16, {{"@tag", 8, heap.build.reference(tag)}});
  heap.add_class(9, "Holder", 16);
  const RemoteAddr text = heap.text("t", 1);
  const RemoteAddr object = heap.instance(77, 32);
  heap.fake.put(object + 8, text);
  const RemoteAddr holder = heap.instance(9, 32);
  heap.fake.put(holder + 8, object);
  heap.join();
  CHECK(heap.type_at(object) == "Tag");
  CHECK(heap.keys_at(object) == "@text");
}

}  // namespace
}  // namespace heapattach::snapshot
