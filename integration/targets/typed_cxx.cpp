// A C++ program that knows every edge of its objects: inheritance of every kind, templates, and the
// standard library's containers, all in the collector's heap. It is built without access control,
// so that it can name the members of containers. typed_edges.h describes the output.

#define GC_THREADS
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <gc/gc_allocator.h>

#include "typed_edges.h"

namespace shop {

template <typename T>
using Vector = std::vector<T, gc_allocator<T>>;
template <typename T>
using List = std::list<T, gc_allocator<T>>;
using String = std::basic_string<char, std::char_traits<char>, gc_allocator<char>>;
template <typename K, typename V>
using Map = std::map<K, V, std::less<>, gc_allocator<std::pair<const K, V>>>;
template <typename K, typename V>
using HashMap =
    std::unordered_map<K, V, std::hash<K>, std::equal_to<>, gc_allocator<std::pair<const K, V>>>;

template <typename T, typename... Args>
T* make(Args&&... args) {
  return new (GC_MALLOC(sizeof(T))) T(std::forward<Args>(args)...);
}

// Has no virtual functions, and so no header.
struct Item {
  Item* next = nullptr;
  const char* label = nullptr;
  long price = 0;
};

Item* make_item(long price, Item* next = nullptr) {
  Item* made = make<Item>();
  char* label = static_cast<char*>(GC_MALLOC_ATOMIC(24));
  snprintf(label, 24, "item-%ld", price);
  *made = {next, label, price};
  return made;
}

struct Shape {
  virtual ~Shape() = default;
  Item* of_shape = nullptr;
};

struct Named {
  virtual ~Named() = default;
  Item* of_name = nullptr;
};

struct Square final : Shape {
  Item* of_square = nullptr;
};

// Has two bases with virtual functions, and a member.
struct Sign final : Shape, Named {
  Item* of_sign = nullptr;
};

// A virtual base of two classes that Whole inherits from.
struct Part {
  virtual ~Part() = default;
  Item* of_part = nullptr;
};
struct Left : virtual Part {
  Item* of_left = nullptr;
};
struct Right : virtual Part {
  Item* of_right = nullptr;
};
struct Whole final : Left, Right {
  Item* of_whole = nullptr;
};

// A class whose virtual base has a virtual base itself, and a class with a member of such a class.
struct Middle final : virtual Left {
  Item* of_middle = nullptr;
};
struct Kept {
  std::uintptr_t number = 0;
  Left left;
  Item* last = nullptr;
};

// Plain bases: the members of Base are members of the derived classes.
struct Base {
  Item* of_base = nullptr;
};
struct Derived : Base {
  Item* of_derived = nullptr;
};

template <typename T>
struct Pair {
  T first{};
  T second{};
  Pair* next = nullptr;
};

enum class Color : std::uint8_t { Red, Green };

struct Numbers {
  std::uintptr_t address = 0;
  double real = 0;
  Color color = Color::Green;
  void (*call)() = nullptr;
  int Numbers::*member = nullptr;
};

// Has bit fields that together look like the address of an item, unions, and data after its end.
struct Oddities {
  std::uint64_t low : 40;
  std::uint64_t high : 24;
  union {
    Item* item;
    double number;
  };
  union {
    std::uintptr_t word;
    Item* item;
  } named;
  void (*call)(Item*);
  void* anything;
  Item fixed[2];
  Item* rows[2][2];
  Item* tail[];
};

struct Containers {
  Vector<Item*> items;
  Vector<Item> by_value;
  Vector<int> numbers;
  Vector<std::uintptr_t> addresses;
  String name;
  String short_name;
  List<Item*> list;
  Map<int, Item*> map;
  HashMap<int, Item*> hash_map;
  std::shared_ptr<Item> shared;
};

struct Everything {
  Square* square = nullptr;
  Sign* sign = nullptr;
  Named* named = nullptr;  // the second base of a Sign: into its middle
  Whole* whole = nullptr;
  Middle* middle = nullptr;
  Kept* kept = nullptr;
  Part* part = nullptr;  // the virtual base of a Whole: into its middle
  Oddities* oddities = nullptr;
  Derived* derived = nullptr;
  Pair<Item*>* items = nullptr;
  Pair<long>* longs = nullptr;
  Numbers* numbers = nullptr;
  Containers* containers = nullptr;
};

Everything* everything;

void make_classes() {
  everything = make<Everything>();
  everything->square = make<Square>();
  everything->square->of_shape = make_item(1);
  everything->square->of_square = make_item(2);
  everything->sign = make<Sign>();
  everything->sign->of_shape = make_item(3);
  everything->sign->of_name = make_item(4);
  everything->sign->of_sign = make_item(5);
  everything->named = make<Sign>();
  everything->whole = make<Whole>();
  everything->whole->of_part = make_item(6);
  everything->whole->of_left = make_item(7);
  everything->whole->of_right = make_item(8);
  everything->whole->of_whole = make_item(9);
  everything->middle = make<Middle>();
  everything->middle->of_part = make_item(20);
  everything->middle->of_left = make_item(21);
  everything->middle->of_middle = make_item(22);
  everything->kept = make<Kept>();
  everything->kept->number = reinterpret_cast<std::uintptr_t>(everything->square);
  everything->kept->left.of_part = make_item(23);
  everything->kept->left.of_left = make_item(24);
  everything->kept->last = make_item(25);
  everything->part = make<Whole>();
  everything->derived = make<Derived>();
  everything->derived->of_base = make_item(10);
  everything->derived->of_derived = make_item(11);
  everything->items = make<Pair<Item*>>();
  *everything->items = {make_item(12), make_item(13), make<Pair<Item*>>()};
  everything->longs = make<Pair<long>>();
  const auto address = reinterpret_cast<std::uintptr_t>(everything->square);
  *everything->longs = {long(address), long(address), nullptr};
  everything->numbers = make<Numbers>();
  everything->numbers->address = address;
  memcpy(&everything->numbers->real, &address, sizeof address);
}

void make_oddities() {
  constexpr int kTail = 3;
  void* room = GC_MALLOC(sizeof(Oddities) + kTail * sizeof(Item*));
  Oddities& made = *(everything->oddities = new (room) Oddities());
  made.item = make_item(30);
  made.named.item = make_item(31);
  const auto address = reinterpret_cast<std::uintptr_t>(made.item);
  made.low = address & 0xffffffffff;
  made.high = address >> 40;
  made.anything = GC_MALLOC(200);
  made.fixed[0] = *make_item(32, make_item(33));
  made.fixed[1] = *make_item(34);
  for (int i = 0; i < 4; ++i) made.rows[i / 2][i % 2] = make_item(35 + i);
  for (int i = 0; i < kTail; ++i) made.tail[i] = make_item(40 + i);
}

void make_containers() {
  Containers& all = *(everything->containers = make<Containers>());
  for (int i = 0; i < 10; ++i) {
    all.items.push_back(make_item(100 + i));
    all.by_value.push_back(*make_item(200 + i, make_item(300 + i)));
    all.numbers.push_back(i);
    all.addresses.push_back(reinterpret_cast<std::uintptr_t>(everything));
    all.list.push_back(make_item(400 + i));
    all.map[i] = make_item(500 + i);
    all.hash_map[i] = make_item(600 + i);
  }
  all.name = "a name that is too long to stand in the string itself";
  all.short_name = "short";
  all.shared = std::allocate_shared<Item>(gc_allocator<Item>(), *make_item(700));
}

void print_item(const Item* item) {
  if (item == nullptr) return;
  object_line(item, "shop::Item");
  EDGE("shop::Item", item, next);
  EDGE("shop::Item", item, label);
}

void print_classes() {
  object_line(everything, "shop::Everything");
  EDGE("shop::Everything", everything, square);
  EDGE("shop::Everything", everything, sign);
  EDGE("shop::Everything", everything, named);
  EDGE("shop::Everything", everything, whole);
  EDGE("shop::Everything", everything, middle);
  EDGE("shop::Everything", everything, kept);
  EDGE("shop::Everything", everything, part);
  EDGE("shop::Everything", everything, oddities);
  EDGE("shop::Everything", everything, derived);
  EDGE("shop::Everything", everything, items);
  EDGE("shop::Everything", everything, longs);
  EDGE("shop::Everything", everything, numbers);
  EDGE("shop::Everything", everything, containers);
  object_line(everything->square, "shop::Square");
  EDGE("shop::Square", everything->square, of_shape);
  EDGE("shop::Square", everything->square, of_square);
  for (const Sign* sign : {everything->sign, static_cast<Sign*>(everything->named)}) {
    object_line(sign, "shop::Sign");
    EDGE("shop::Sign", sign, of_shape);
    EDGE("shop::Sign", sign, of_name);
    EDGE("shop::Sign", sign, of_sign);
  }
  object_line(everything->derived, "shop::Derived");
  EDGE("shop::Derived", everything->derived, of_base);
  EDGE("shop::Derived", everything->derived, of_derived);
}

void print_virtual_bases() {
  object_line(everything->whole, "shop::Whole");
  EDGE("shop::Whole", everything->whole, of_part);
  EDGE("shop::Whole", everything->whole, of_left);
  EDGE("shop::Whole", everything->whole, of_right);
  EDGE("shop::Whole", everything->whole, of_whole);
  object_line(everything->part, "shop::Whole");
  object_line(everything->middle, "shop::Middle");
  EDGE("shop::Middle", everything->middle, of_part);
  EDGE("shop::Middle", everything->middle, of_left);
  EDGE("shop::Middle", everything->middle, of_middle);
  object_line(everything->kept, "shop::Kept");
  EDGE("shop::Kept", everything->kept, left.of_part);
  EDGE("shop::Kept", everything->kept, left.of_left);
  EDGE("shop::Kept", everything->kept, last);
}

void print_oddities() {
  const Oddities& all = *everything->oddities;
  const char* const type = "shop::Oddities";
  object_line(&all, type);
  EDGE(type, &all, item);
  EDGE(type, &all, named.item);
  EDGE(type, &all, anything);
  EDGE(type, &all, fixed[0].next);
  EDGE(type, &all, fixed[0].label);
  EDGE(type, &all, fixed[1].label);
  EDGE(type, &all, rows[0][0]);
  EDGE(type, &all, rows[0][1]);
  EDGE(type, &all, rows[1][0]);
  EDGE(type, &all, rows[1][1]);
  EDGE(type, &all, tail[0]);
  EDGE(type, &all, tail[1]);
  EDGE(type, &all, tail[2]);
  object_line(all.anything, "(unknown)");
}

void print_others() {
  const auto* pair = everything->items;
  object_line(pair, "shop::Pair<shop::Item*>");
  EDGE("shop::Pair<shop::Item*>", pair, first);
  EDGE("shop::Pair<shop::Item*>", pair, second);
  EDGE("shop::Pair<shop::Item*>", pair, next);
  object_line(pair->next, "shop::Pair<shop::Item*>");
  object_line(everything->longs, "shop::Pair<long>");
  object_line(everything->numbers, "shop::Numbers");
  print_item(everything->square->of_shape);
  print_item(everything->sign->of_name);
  print_item(everything->whole->of_part);
  print_item(everything->derived->of_base);
  print_item(everything->middle->of_part);
  print_item(everything->kept->left.of_part);
  print_item(everything->oddities->rows[1][1]);
  print_item(everything->oddities->tail[2]);
  print_item(pair->first);
}

void print_vectors(Containers& all) {
  object_line(all.items.data(), "(buffer of std::vector<shop::Item*>)");
  object_line(all.by_value.data(), "(buffer of std::vector<shop::Item>)");
  object_line(all.numbers.data(), "(buffer of std::vector<int>)");
  object_line(all.addresses.data(), "(buffer of std::vector<unsigned long>)");
  object_line(all.name.data(), "(buffer of std::string)");
  Item* const* items = all.items.data();
  const Item* by_value = all.by_value.data();
  for (int i = 0; i < 10; ++i) {
    EDGE_AT("(buffer of std::vector<shop::Item*>)", items, i);
    EDGE_OF("(buffer of std::vector<shop::Item>)", by_value, i, next);
    EDGE_OF("(buffer of std::vector<shop::Item>)", by_value, i, label);
    print_item(items[i]);
    print_item(by_value[i].next);
  }
}

// Prints the nodes of a list, with the library's names.
void print_list(const List<Item*>& list) {
  const char* const type = "std::_List_node<shop::Item*>";
  for (const auto* at = list._M_impl._M_node._M_next; at != &list._M_impl._M_node;
       at = at->_M_next) {
    Item* const item = *static_cast<const std::_List_node<Item*>*>(at)->_M_valptr();
    object_line(at, type);
    EDGE(type, at, _M_next);
    EDGE(type, at, _M_prev);
    edge_line(at, type, "_M_storage", item);
    print_item(item);
  }
}

void print_tree(const std::_Rb_tree_node_base* at) {
  if (at == nullptr) return;
  using Node = std::_Rb_tree_node<std::pair<const int, Item*>>;
  const char* const type = "std::_Rb_tree_node<std::pair<int const, shop::Item*> >";
  Item* const item = static_cast<const Node*>(at)->_M_valptr()->second;
  object_line(at, type);
  EDGE(type, at, _M_parent);
  EDGE(type, at, _M_left);
  EDGE(type, at, _M_right);
  edge_line(at, type, "_M_storage.second", item);
  print_item(item);
  print_tree(at->_M_left);
  print_tree(at->_M_right);
}

void print_hash_map(const HashMap<int, Item*>& map) {
  using Node = std::__detail::_Hash_node<std::pair<const int, Item*>, false>;
  const char* const type = "std::__detail::_Hash_node<std::pair<int const, shop::Item*>, false>";
  for (const auto* at = map._M_h._M_before_begin._M_nxt; at != nullptr; at = at->_M_nxt) {
    Item* const item = static_cast<const Node*>(at)->_M_v().second;
    object_line(at, type);
    EDGE(type, at, _M_nxt);
    edge_line(at, type, "_M_storage.second", item);
    print_item(item);
  }
  const char* const buffer = "(buffer of std::unordered_map<int, shop::Item*>)";
  const auto* const buckets = map._M_h._M_buckets;
  object_line(buckets, buffer);
  for (int i = 0; i < int(map._M_h._M_bucket_count); ++i) EDGE_AT(buffer, buckets, i);
}

void print_shared(const std::shared_ptr<Item>& shared) {
  const char* const type = "(std::make_shared<shop::Item>)";  // the class has a longer name
  object_line(shared.get(), type);
  edge_line(shared.get(), type, "_M_impl._M_storage.label", shared->label);
}

void print_containers(Containers& all) {
  const char* const type = "shop::Containers";
  object_line(&all, type);
  EDGE(type, &all, items._M_impl._M_start);
  EDGE(type, &all, items._M_impl._M_finish);
  EDGE(type, &all, items._M_impl._M_end_of_storage);
  EDGE(type, &all, by_value._M_impl._M_start);
  EDGE(type, &all, by_value._M_impl._M_finish);
  EDGE(type, &all, by_value._M_impl._M_end_of_storage);
  EDGE(type, &all, numbers._M_impl._M_start);
  EDGE(type, &all, numbers._M_impl._M_finish);
  EDGE(type, &all, numbers._M_impl._M_end_of_storage);
  EDGE(type, &all, addresses._M_impl._M_start);
  EDGE(type, &all, addresses._M_impl._M_finish);
  EDGE(type, &all, addresses._M_impl._M_end_of_storage);
  EDGE(type, &all, name._M_dataplus._M_p);
  EDGE(type, &all, short_name._M_dataplus._M_p);
  EDGE(type, &all, list._M_impl._M_node._M_next);
  EDGE(type, &all, list._M_impl._M_node._M_prev);
  EDGE(type, &all, map._M_t._M_impl._M_header._M_parent);
  EDGE(type, &all, map._M_t._M_impl._M_header._M_left);
  EDGE(type, &all, map._M_t._M_impl._M_header._M_right);
  EDGE(type, &all, hash_map._M_h._M_buckets);
  EDGE(type, &all, hash_map._M_h._M_before_begin._M_nxt);
  EDGE(type, &all, shared._M_ptr);
  EDGE(type, &all, shared._M_refcount._M_pi);
  print_list(all.list);
  print_tree(all.map._M_t._M_impl._M_header._M_parent);
  print_hash_map(all.hash_map);
  print_shared(all.shared);
}

void print_edges() {
  print_classes();
  print_virtual_bases();
  print_oddities();
  print_others();
  print_vectors(*everything->containers);
  print_containers(*everything->containers);
}

}  // namespace shop

int main() {
  GC_INIT();
  shop::make_classes();
  shop::make_oddities();
  shop::make_containers();
  printf("ready\n");
  fflush(stdout);
  answer_questions(shop::print_edges);
  return 0;
}
