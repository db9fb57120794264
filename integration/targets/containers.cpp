// Has the containers of the standard library in malloc's heap, each with kEach elements. Only the
// containers show the types of the items. Prints
//     ready items=300 texts=301 tree_nodes=200 hash_nodes=200 list_nodes=200 arrays=4
// and waits for the end of its standard input. Compiled with libstdc++ and with libc++.
#include <cstdio>
#include <forward_list>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shop {

constexpr int kEach = 100;

struct Item {
  long price = 0;
  Item* next = nullptr;
  char label[40] = {};
};

std::vector<Item*> items;
std::vector<Item> values;
std::vector<std::string> texts;
std::vector<bool> flags;
std::map<int, Item*> by_number;
std::set<std::string> names;
std::list<Item> list;
std::forward_list<Item> forward_list;
std::unordered_map<std::string, Item*> by_name;
std::unordered_multiset<long> numbers;
std::string text(3000, 'x');

void fill(int number) {
  // The text is too long to be stored inside a string object.
  const std::string suffix = " is the long name of number " + std::to_string(number);
  items.push_back(new Item);
  values.emplace_back();
  texts.push_back("a text" + suffix);
  flags.push_back(true);
  by_number[number] = new Item;
  names.insert("a name" + suffix);
  list.emplace_back();
  forward_list.emplace_front();
  by_name["a key" + suffix] = new Item;
  numbers.insert(number);
}

}  // namespace shop

int main() {
  using shop::kEach;
  for (int number = 0; number < kEach; ++number) shop::fill(number);
  printf("ready items=%d texts=%d tree_nodes=%d hash_nodes=%d list_nodes=%d arrays=4\n", 3 * kEach,
         3 * kEach + 1, 2 * kEach, 2 * kEach, 2 * kEach);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
