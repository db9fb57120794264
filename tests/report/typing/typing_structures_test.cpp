#include <doctest/doctest.h>

#include "report/typing/typing.h"
#include "tests/support/typed_heap.h"

namespace heapattach::snapshot {
namespace {

// A heap with a C list: struct node { struct node *next; struct node *other; long value; }.
struct ListHeap : TypedHeap {
  explicit ListHeap(std::uint64_t pages = 64) : TypedHeap(pages) {
    number = build.number("long", 8);
    node = build.structure("struct node", 24);
    pointer = build.pointer(node);
    build.model[node].members = {
        {"next", 0, pointer}, {"other", 8, pointer}, {"value", 16, number}};
  }
  types::TypeRef number = 0;
  types::TypeRef node = 0;
  types::TypeRef pointer = 0;
};

TEST_CASE(
    "a structure without a header is typed by the variable and the fields that reference it") {
  ListHeap heap;
  const RemoteAddr first = heap.object(32);
  const RemoteAddr second = heap.object(32);
  heap.fake.put(first, second);
  heap.fake.put(second + 8, first);
  heap.fake.put(second + 16, first);  // a number that looks like an address
  heap.global("list", heap.pointer, 8, first);
  heap.join();
  CHECK(heap.type_at(first) == "struct node");
  CHECK(heap.type_at(second) == "struct node");
  CHECK(heap.keys_at(first) == "next");
  CHECK(heap.keys_at(second) == "other");
  CHECK(heap.row_at(first).known_from == std::vector<std::string>{"dwarf", "referrer"});
  CHECK(heap.row_at(first).fields.size() == 3);
  CHECK(heap.row_at(first).typed_by == TypedBy::Referrer);
}

// struct shape { long kind; case kind of 1: struct node *node; 2: long number; }, and what the last
// branch chooses: 3: if more is 7, struct node *inner.
struct ShapeHeap : ListHeap {
  ShapeHeap() {
    const types::Member kind{"kind", 0, number};
    shape = build.structure("struct shape", 24, {kind});
    const auto node_branch = build.structure("branch 1", 24, {kind, {"node", 8, pointer}});
    const auto number_branch = build.structure("branch 2", 24, {kind, {"number", 8, number}});
    const types::Member more{"more", 8, number};
    const auto last = build.structure("branch 3", 24, {kind, more});
    const auto inner = build.structure("branch 4", 24, {kind, more, {"inner", 16, pointer}});
    build.model[last].choice = {8, 8, {{{{7, 7}}, inner}}};
    build.model[shape].choice = {
        0, 8, {{{{1, 1}}, node_branch}, {{{2, 2}}, number_branch}, {{{3, 3}, {5, 9}}, last}}};
    shapes = build.pointer(shape);
  }

  RemoteAddr put_shape(RemoteAddr at, std::uint64_t kind, std::uint64_t first, RemoteAddr second) {
    fake.put(at, kind);
    fake.put(at + 8, first);
    fake.put(at + 16, second);
    return at;
  }

  types::TypeRef shape = 0;
  types::TypeRef shapes = 0;
};

TEST_CASE("a number in a structure chooses which pointers it has, and what they are called") {
  ShapeHeap heap;
  const RemoteAddr node = heap.object(32);
  const RemoteAddr inner = heap.object(32);
  const RemoteAddr hidden = heap.object(32);
  const RemoteAddr first = heap.put_shape(heap.object(32), 1, node.value, {});
  const RemoteAddr second = heap.put_shape(heap.object(32), 2, hidden.value, {});
  const RemoteAddr third = heap.put_shape(heap.object(32), 5, 7, inner);
  const RemoteAddr fourth = heap.put_shape(heap.object(32), 5, 6, hidden);
  const RemoteAddr fifth = heap.put_shape(heap.object(32), 4, hidden.value, {});
  heap.global("first", heap.shapes, 0, first);
  heap.global("second", heap.shapes, 8, second);
  heap.global("third", heap.shapes, 16, third);
  heap.global("fourth", heap.shapes, 24, fourth);
  heap.global("fifth", heap.shapes, 32, fifth);
  heap.join();
  for (const RemoteAddr at : {first, second, third, fourth, fifth}) {
    CHECK(heap.type_at(at) == "struct shape");
  }
  CHECK(heap.type_at(node) == "struct node");
  CHECK(heap.type_at(inner) == "struct node");
  CHECK(heap.type_at(hidden) == "(unknown)");
  CHECK(heap.keys_at(first) == "node");
  CHECK(heap.keys_at(second).empty());
  CHECK(heap.keys_at(third) == "inner");
  CHECK(heap.keys_at(fourth) == "+16");
  CHECK(heap.keys_at(fifth) == "+8");
}

TEST_CASE("a number in each element chooses which pointers the element has") {
  ShapeHeap heap;
  const RemoteAddr node = heap.object(32);
  const RemoteAddr inner = heap.object(32);
  const RemoteAddr hidden = heap.object(32);
  const RemoteAddr array = heap.object(96);
  heap.put_shape(array, 2, hidden.value, {});
  heap.put_shape(array + 24, 1, node.value, {});
  heap.put_shape(array + 48, 3, 7, inner);
  heap.put_shape(array + 72, 3, 6, hidden);
  SUBCASE("the elements are all that the object contains") {
    heap.global("shapes", heap.shapes, 0, array);
  }
  SUBCASE("the elements are members of a structure") {
    const auto four = heap.build.array(heap.shape, 4);
    const auto owner = heap.build.structure("struct owner", 96, {{"shapes", 0, four}});
    heap.global("owner", heap.build.pointer(owner), 0, array);
  }
  heap.join();
  CHECK(heap.type_at(node) == "struct node");
  CHECK(heap.type_at(inner) == "struct node");
  CHECK(heap.type_at(hidden) == "(unknown)");
}

TEST_CASE("an object that may be of a derived type is shown as one that may be") {
  TypedHeap heap;
  const auto number = heap.build.number("long", 8);
  const auto base = heap.build.structure("Session", 24, {{"visits", 0, number}});
  const auto derived = heap.build.structure("Admin", 40, {{"", 0, base, true}});
  heap.build.structure("Owner", 88, {{"", 0, derived, true}});
  const auto pointer = heap.build.pointer(base);
  const RemoteAddr small = heap.object(32);
  const RemoteAddr admin = heap.object(48);
  const RemoteAddr owner = heap.object(96);
  const RemoteAddr named = heap.object(48);
  heap.global("small", pointer, 0, small);
  heap.global("admin", pointer, 8, admin);
  heap.global("owner", pointer, 16, owner);
  heap.global("named", pointer, 24, named);
  heap.global("self", heap.build.pointer(derived), 32, named);
  heap.join();
  CHECK(heap.type_at(small) == "Session");
  CHECK(heap.type_at(admin) == "Session or a subtype");
  CHECK(heap.type_at(owner) == "Session or a subtype");
  CHECK(heap.type_at(named) == "Admin");
}

TEST_CASE("variables may be arrays, structures, or in a register") {
  ListHeap heap;
  const RemoteAddr node = heap.object(32);
  SUBCASE("an array") {
    heap.global("lists", heap.build.array(heap.pointer, 3), 16, node);
  }
  SUBCASE("an array in a structure, not at its start") {
    const auto lists = heap.build.array(heap.pointer, 3);
    const auto all = heap.build.structure("struct all", 32, {{"lists", 8, lists}});
    heap.global("all", all, 0, RemoteAddr{});
    heap.fake.put(TypedHeap::kData + 24, node);
  }
  SUBCASE("a register") {
    heap.global("list", heap.pointer, 0, RemoteAddr{});
    heap.build.model.globals.back().value = node.value;
  }
  heap.join();
  CHECK(heap.type_at(node) == "struct node");
}

TEST_CASE("if there is room for several, a structure's pointer points to an array") {
  ListHeap heap;
  const RemoteAddr nodes = heap.object(112);  // four nodes, and the collector's byte
  const RemoteAddr last = heap.object(32);
  heap.fake.put(nodes + 24 + 8, nodes);
  heap.fake.put(nodes + 72, last);
  heap.fake.put(nodes + 96, last);  // after the last whole node
  heap.global("nodes", heap.pointer, 0, nodes);
  heap.join();
  CHECK(heap.type_at(nodes) == "struct node[]");
  CHECK(heap.keys_at(nodes) == "[1].other [3].next");
  CHECK(heap.type_at(last) == "struct node");
}

TEST_CASE("a structure in a slot that is too large is not an array if the rest is zero") {
  TypedHeap heap;
  const auto link = heap.build.structure("struct link", 16);
  const auto pointer = heap.build.pointer(link);
  heap.build.model[link].members = {{"next", 0, pointer}};
  const RemoteAddr single = heap.object(48);
  const RemoteAddr two = heap.object(48);
  const RemoteAddr table = heap.object(112);  // too large a slot for one node
  heap.fake.put(single, two);
  heap.fake.put(two + 24, std::uint64_t{1});
  heap.global("list", pointer, 0, single);
  heap.global("table", pointer, 8, table);
  heap.join();
  CHECK(heap.type_at(single) == "struct link");
  CHECK(heap.type_at(two) == "struct link[]");
  CHECK(heap.type_at(table) == "struct link[]");
}

TEST_CASE(
    "a structure of a few bytes by itself is not an array, although there is room for several") {
  ListHeap heap;
  const auto leaf =
      heap.build.structure("struct leaf", 4, {{"id", 0, heap.build.number("int", 4)}});
  const RemoteAddr single = heap.object(16);
  const RemoteAddr several = heap.object(64);
  heap.global("single", heap.build.pointer(leaf), 0, single);
  heap.global("several", heap.build.pointer(leaf), 8, several);
  heap.join();
  CHECK(heap.type_at(single) == "struct leaf");
  CHECK(heap.type_at(several) == "struct leaf[]");
}

TEST_CASE("a slightly larger size class does not have room for several") {
  ListHeap heap;
  const auto large = heap.build.structure("struct large", 40, {{"node", 0, heap.pointer}});
  const RemoteAddr at = heap.object(80);
  heap.global("large", heap.build.pointer(large), 0, at);
  heap.join();
  CHECK(heap.type_at(at) == "struct large");
}

TEST_CASE("a structure may be in a slot that was made for a larger one") {
  ListHeap heap;
  const auto record = heap.build.structure("struct record", 744, {{"next", 0, heap.pointer}});
  const auto pointer = heap.build.pointer(record);
  const RemoteAddr possible = heap.object(1024);
  const RemoteAddr impossible = heap.object(1344);
  heap.global("a", pointer, 0, possible);
  heap.global("b", pointer, 8, impossible);
  heap.join();
  CHECK(heap.type_at(possible) == "struct record");
  CHECK(heap.type_at(impossible) == "(unknown)");
}

TEST_CASE("a structure that ends in an array may be of any size") {
  ListHeap heap;
  const auto items = heap.build.array(heap.pointer, std::nullopt);
  const auto table =
      heap.build.structure("struct table", 8, {{"n", 0, heap.number}, {"items", 8, items}});
  const RemoteAddr node = heap.object(32);
  const RemoteAddr at = heap.object(64);
  heap.fake.put(at, node);  // the field is a number
  heap.fake.put(at + 8, node);
  heap.fake.put(at + 40, node);
  heap.global("table", heap.build.pointer(table), 0, at);
  heap.join();
  CHECK(heap.type_at(at) == "struct table");
  CHECK(heap.keys_at(at) == "items[0] items[4]");
  CHECK(heap.type_at(node) == "struct node");
}

TEST_CASE(
    "a pointer to void claims nothing, one to characters claims text if there are no pointers") {
  ListHeap heap;
  const auto text = heap.build.pointer(heap.build.number("char", 1));
  const RemoteAddr any = heap.object(32);
  const RemoteAddr name = heap.object(48);
  const RemoteAddr atomic = heap.object(48, heap::kAtomic);
  const RemoteAddr used_as_bytes = heap.object(64);
  heap.fake.put(used_as_bytes + 8, any);
  heap.global("any", heap.build.pointer(heap.build.opaque("void")), 0, any);
  heap.global("name", text, 8, name);
  heap.global("atomic", text, 16, atomic);
  heap.global("used", text, 24, used_as_bytes);
  heap.join();
  CHECK(heap.type_at(any) == "(unknown)");
  CHECK(heap.type_at(name) == "char[]");
  CHECK(heap.type_at(atomic) == "char[]");
  CHECK(heap.type_at(used_as_bytes) == "(unknown)");
  CHECK(heap.keys_at(used_as_bytes) == "+8");
}

TEST_CASE("of two types, the one that fits exactly is kept, in any order") {
  ListHeap heap;
  const auto base = heap.build.structure("struct base", 8, {{"next", 0, heap.pointer}});
  const auto other = heap.build.structure("struct other", 120);
  const RemoteAddr node = heap.object(32);
  SUBCASE("the base first") {
    heap.global("a", heap.build.pointer(base), 0, node);
    heap.global("b", heap.pointer, 8, node);
  }
  SUBCASE("the base last") {
    heap.global("b", heap.pointer, 8, node);
    heap.global("a", heap.build.pointer(base), 0, node);
  }
  SUBCASE("one that does not fit") {
    heap.global("b", heap.pointer, 8, node);
    heap.global("a", heap.build.pointer(other), 0, node);
  }
  heap.join();
  CHECK(heap.type_at(node) == "struct node");
  CHECK(heap.conflicts == 1);
}

TEST_CASE("a structure of numbers may be in atomic memory, one with pointers may not") {
  ListHeap heap;
  const auto point =
      heap.build.structure("struct point", 16, {{"x", 0, heap.number}, {"y", 8, heap.number}});
  const RemoteAddr numbers = heap.object(32, heap::kAtomic);
  const RemoteAddr node = heap.object(32, heap::kAtomic);
  heap.global("point", heap.build.pointer(point), 0, numbers);
  heap.global("node", heap.pointer, 8, node);
  heap.join();
  CHECK(heap.type_at(numbers) == "struct point");
  CHECK(heap.type_at(node) == "(unknown atomic)");
}

TEST_CASE("a pointer into the middle of an object names it only as an array of its kind") {
  ListHeap heap;
  const RemoteAddr number_in = heap.object(64);
  const RemoteAddr nodes = heap.object(96);
  const RemoteAddr not_aligned = heap.object(128);
  heap.global("number", heap.build.pointer(heap.number), 0, number_in + 16);
  heap.global("node", heap.pointer, 8, nodes + 48);
  heap.global("odd", heap.pointer, 16, not_aligned + 40);
  heap.join();
  CHECK(heap.type_at(number_in) == "(unknown)");
  CHECK(heap.type_at(nodes) == "struct node[]");
  CHECK(heap.type_at(not_aligned) == "(unknown)");
}

TEST_CASE("a type of which only the name is known gives the name") {
  ListHeap heap;
  const RemoteAddr at = heap.object(64);
  heap.fake.put(at + 8, at);
  heap.global("hidden", heap.build.pointer(heap.build.opaque("struct hidden")), 0, at);
  heap.join();
  CHECK(heap.type_at(at) == "struct hidden");
  CHECK(heap.keys_at(at) == "+8");
}

TEST_CASE("a vector's buffer is named after it, and a string's after std::string") {
  ListHeap heap;
  const auto base =
      heap.build.structure("std::_Vector_base<node*, std::allocator<node*> >", 24,
                           {{"_M_start", 0, heap.build.pointer(heap.pointer)},
                            {"_M_finish", 8, heap.build.pointer(heap.pointer)},
                            {"_M_end_of_storage", 16, heap.build.pointer(heap.pointer)}});
  const auto vector =
      heap.build.structure("std::vector<node*, std::allocator<node*> >", 24, {{"", 0, base, true}});
  const auto text = heap.build.pointer(heap.build.number("char", 1));
  const auto string = heap.build.structure(
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", 32,
      {{"_M_p", 0, text}, {"_M_string_length", 8, heap.number}, {"_M_local_buf", 16, heap.number}});
  const auto holder = heap.build.structure(
      "Holder", 88, {{"all", 0, vector}, {"name", 24, string}, {"local", 56, string}});
  const RemoteAddr at = heap.object(96);
  const RemoteAddr buffer = heap.object(64);
  const RemoteAddr chars = heap.object(48, heap::kAtomic);
  const RemoteAddr node = heap.object(32);
  heap.fake.put(at, buffer);
  heap.fake.put(at + 8, buffer + 8);
  heap.fake.put(at + 16, buffer + 56);
  heap.fake.put(at + 24, chars);
  heap.fake.put(at + 56, at + 72);  // a short string is inside its owner
  heap.fake.put(buffer, node);
  heap.global("holder", heap.build.pointer(holder), 0, at);
  heap.join();
  CHECK(heap.type_at(at) == "Holder");
  CHECK(heap.keys_at(at) ==
        "all._M_start all._M_finish all._M_end_of_storage name._M_p local._M_p");
  CHECK(heap.type_at(buffer) == "(buffer of std::vector<node*>)");
  CHECK(heap.keys_at(buffer) == "[0]");
  CHECK(heap.type_at(chars) == "(buffer of std::string)");
  CHECK(heap.type_at(node) == "struct node");
  CHECK(heap.conflicts == 0);
}

TEST_CASE("a text is one whatever an earlier use of its memory has left behind it") {
  ListHeap heap;
  const auto text = heap.build.pointer(heap.build.number("char", 1));
  const auto string = heap.build.structure(
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", 32,
      {{"_M_p", 0, text}, {"_M_string_length", 8, heap.number}, {"_M_local_buf", 16, heap.number}});
  const auto holder =
      heap.build.structure("Holder", 56, {{"name", 0, string}, {"c", 32, text}, {"d", 40, text}});
  constexpr std::uint64_t kLetters = 0x6161616161616161;
  const RemoteAddr at = heap.object(64);
  const RemoteAddr node = heap.object(32);
  const auto add_text = [&](std::uint64_t field, std::uint64_t bytes) {
    const RemoteAddr chars = heap.object(bytes);
    heap.fake.put(at + field, chars);
    heap.fake.put(chars, kLetters);
    heap.fake.put(chars + 8, kLetters);
    heap.fake.put(chars + 16, std::uint64_t{0x61});
    heap.fake.put(chars + 24, node);
    return chars;
  };
  const RemoteAddr of_string = add_text(0, 96);
  const RemoteAddr copied = add_text(32, 32);
  const RemoteAddr structure = add_text(40, 96);  // may also be a name followed by a pointer
  heap.global("holder", heap.build.pointer(holder), 0, at);
  heap.join();
  CHECK(heap.type_at(of_string) == "(buffer of std::string)");
  CHECK(heap.type_at(copied) == "char[]");
  CHECK(heap.type_at(structure) == "(unknown)");
}

TEST_CASE("a long list is typed to its end, and identically on every run") {
  ListHeap heap(120);
  std::vector<RemoteAddr> nodes;
  for (int i = 0; i < 12000; ++i) nodes.push_back(heap.object(32));
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    heap.fake.put(nodes[i], nodes[i + 1]);
    heap.fake.put(nodes[i] + 8, nodes[(i * 7919) % nodes.size()]);
  }
  heap.global("list", heap.pointer, 0, nodes[0]);
  for (int round = 0; round < 3; ++round) {
    heap.join();
    std::size_t typed = 0;
    for (const Object& object : heap.snapshot.objects) {
      typed += heap.snapshot.types[object.type].name == "struct node" ? 1U : 0U;
    }
    CHECK(typed == nodes.size());
    CHECK(heap.conflicts == 0);
  }
}

}  // namespace
}  // namespace heapattach::snapshot
