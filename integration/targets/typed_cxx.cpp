// A C++ program that knows every edge of its objects: inheritance of every sort, templates, and the
// standard library's containers, all in the collector's heap. It is built without access control,
// so that it can name the members of containers as their authors did. typed_edges.h says what it
// prints.

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

// No virtual functions, so no header.
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

// Two bases with virtual functions, and a member.
struct Sign final : Shape, Named {
  Item* of_sign = nullptr;
};

// A virtual base, twice.
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

// Plain bases: their members are its own.
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
  object_line(everything->whole, "shop::Whole");
  EDGE("shop::Whole", everything->whole, of_part);
  EDGE("shop::Whole", everything->whole, of_left);
  EDGE("shop::Whole", everything->whole, of_right);
  EDGE("shop::Whole", everything->whole, of_whole);
  object_line(everything->derived, "shop::Derived");
  EDGE("shop::Derived", everything->derived, of_base);
  EDGE("shop::Derived", everything->derived, of_derived);
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

// The nodes of lists and maps: their elements are found, and typed by what the container says.
void print_nodes(Containers& all) {
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
  for (const Item* item : all.list) print_item(item);
  for (const auto& [key, item] : all.map) print_item(item);
  for (const auto& [key, item] : all.hash_map) print_item(item);
}

void print_edges() {
  print_classes();
  print_others();
  print_vectors(*everything->containers);
  print_nodes(*everything->containers);
}

}  // namespace shop

int main() {
  GC_INIT();
  shop::make_classes();
  shop::make_containers();
  printf("ready\n");
  fflush(stdout);
  answer_questions(shop::print_edges);
  return 0;
}
