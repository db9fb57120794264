#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/ruby/machine.h"
#include "symbols/ruby/shapes.h"

// Reads the references of Ruby's objects, by Ruby's own rules for marking. Runs no code in the
// process.
namespace heapattach::ruby {

struct Reference {
  Value to = 0;           // an object, or an immediate value as a placeholder
  std::string_view name;  // "@history"; empty for an element. Valid as long as the reader
};

// Whether an object's references are complete.
enum class Extent : std::uint8_t {
  Whole,
  // Words of a C structure that look like objects, perhaps by chance, without the references that
  // it keeps elsewhere; or a part could not be read.
  Words,
};

class ReferenceReader {
 public:
  // `is_object` returns whether a word is the address of an object. Borrows all.
  ReferenceReader(const Machine& machine,
                  const Values& values,
                  std::function<bool(Value)> is_object);
  // The shapes of objects, and the size of the slot at an address: since 3.2 both are needed.
  void use(Shapes shapes, std::function<std::uint64_t(Value)> slot_bytes) {
    shapes_ = std::move(shapes);
    slot_bytes_ = std::move(slot_bytes);
  }

  // Limits the words of all Arrays, Structs and variables together to those of the process's
  // memory: each word belongs to one object. A heap with more is broken, or made to exhaust our
  // memory.
  void allow(std::uint64_t words) { words_left_ = words; }

  // Replaces the contents of `into` by the references of the object in this slot, except its class.
  Extent read(Value at, const Slot& slot, std::vector<Reference>& into);

  [[nodiscard]] std::optional<std::string> class_name(Value of_class) {
    return names_.class_name(of_class);
  }

  // Finds the table with the instance variables of objects that are neither Objects nor modules,
  // such as a String. `tables` are addresses that may be this table's.
  void find_generic_variables(const std::vector<std::uint64_t>& tables,
                              const std::vector<Value>& owners);
  [[nodiscard]] bool knows_generic_variables() const { return !generic_.empty(); }

  // Adds the words in a range of memory that are addresses of objects.
  void words(std::uint64_t from,
             std::uint64_t bytes,
             std::string_view name,
             std::vector<Reference>& into);
  // Adds the values on the interpreter's stack of this context, and the variables of its fiber.
  void stack_of(std::uint64_t context, std::vector<Reference>& into);
  // The variables in a table of global variables; empty if this is not such a table.
  std::vector<Reference> globals(std::uint64_t table);

 private:
  using List = std::vector<Reference>;

  std::string_view keep(std::string text);
  std::string_view name_of(Id id);
  std::string_view name_of_serial(std::uint64_t serial);
  // The names of the variables of a class's Objects, by index.
  const std::vector<std::string_view>& variables_of(Value of_class);
  const std::vector<std::string_view>& members_of(Value of_class);

  void object(Value at, const Slot& slot, List& into);
  void structure(Value at, const Slot& slot, List& into);
  void array(Value at, const Slot& slot, List& into);
  void hash(Value at, const Slot& slot, List& into);
  void module(const Slot& slot, List& into);
  void methods(std::uint64_t table, List& into);
  void caches(std::uint64_t table, List& into);
  Extent internal(Value at, const Slot& slot, List& into);
  // Objects of 3.2 and later, whose variables have the names of their shape.
  Extent shaped(Value at, const Slot& slot, List& into);
  Extent variables(const Slot& owner, std::uint64_t from, std::uint64_t bytes, List& into);
  // The size of an object's slot, without its first bytes.
  [[nodiscard]] std::uint64_t bytes_behind(Value at, std::uint64_t head) const {
    const std::uint64_t bytes = slot_bytes_(at);
    return bytes > head ? bytes - head : 0;
  }
  std::vector<Reference> variables_of_module(Value at, const Slot& slot);
  void wide_module(Value at, const Slot& slot, List& into);
  void part_of_module(Value part, std::uint64_t offset, List& into);
  void buffer_of_module(const Slot& slot, std::uint64_t buffer, List& into);
  bool named_table(std::uint64_t table, List& into);
  void fields(Value object, List& into);
  void blocks_of(std::uint64_t from, std::uint64_t bytes, std::string_view name, List& into);
  void environment(const Slot& slot, List& into);
  void method(const Slot& slot, List& into);
  void code(const Slot& slot, List& into);
  Extent data(Value at, const Slot& slot, List& into);
  void file(const Slot& slot, List& into);
  void generic(Value at, const Slot& slot, List& into);
  void words_of_block(std::uint64_t at, List& into);
  // A table of an object, whose words count.
  std::optional<std::vector<Values::Entry>> limited_table(std::uint64_t at);
  void fail() { has_failed_ = true; }
  // Counts the words of an object. False if they are too many.
  bool take(std::uint64_t words) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 27;
    if (words > std::min(kMost, words_left_)) return false;
    words_left_ -= words;
    return true;
  }
  void add(Value to, std::string_view name, List& into) {
    if (is_reference(to)) into.push_back({to, name});
  }
  // The pairs of an id_table.
  struct Item {
    std::uint64_t serial = 0;
    std::uint64_t value = 0;
  };
  [[nodiscard]] std::vector<Item> items(std::uint64_t table) const;

  const Machine& machine_;
  const Values& values_;
  std::function<bool(Value)> is_object_;
  NameReader names_;
  std::map<std::string, std::string, std::less<>> texts_;
  std::unordered_map<std::uint64_t, std::string_view> serials_;
  std::unordered_map<Value, std::vector<std::string_view>> variables_;
  std::unordered_map<Value, std::vector<std::string_view>> members_;
  std::unordered_map<Value, std::uint64_t> generic_;  // by object
  Shapes shapes_;
  std::function<std::uint64_t(Value)> slot_bytes_ = [](Value) { return sizeof(Slot); };
  bool has_failed_ = false;
  std::uint64_t words_left_ = ~std::uint64_t{0};
};

// The size of a block from the C library's malloc(), by the word before it; 0 if it is not one.
[[nodiscard]] std::uint64_t allocated_bytes(const Values& values, std::uint64_t at);

}  // namespace heapattach::ruby
