#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/mono/facts.h"
#include "symbols/runtimes/heap_view.h"

namespace heapattach::mono {

// A field of a class, or of a value in it: "_size", "_entries", "key.X".
struct Field {
  std::uint64_t offset = 0;  // from the object's start, or from that of the static fields
  std::string name;
};

// The class of all objects that begin with one vtable.
struct Class {
  std::string name;  // "Shop.Session", "System.Int32[]"
  std::uint64_t at = 0;
  std::uint64_t domain = 0;
  std::uint64_t instance_bytes = 0;  // header included; of an array or a string, at least
  bool is_array = false;
  bool is_string = false;
  std::uint64_t element_bytes = 0;     // of an array
  std::vector<Field> fields;           // of an object, or of an array's element
  std::uint64_t static_fields_at = 0;  // 0: none
  std::uint64_t static_bytes = 0;
};

// Reads classes. Trusts no number: a class takes a bounded number of steps, and a name that is not
// text is none.
class ClassReader {
 public:
  // Borrows its arguments.
  ClassReader(const Facts& facts, const runtimes::HeapView& view) : facts_(facts), view_(view) {}

  // The class whose objects begin with this word; null if it is not a vtable that its class knows.
  const Class* of_first_word(std::uint64_t word);

  // The vtables of all classes that are in use in a domain (Class::domain).
  [[nodiscard]] std::vector<std::uint64_t> vtables_of(std::uint64_t domain);
  // The static fields of a class.
  [[nodiscard]] std::vector<Field> static_fields(const Class& of);

 private:
  struct FieldsOf;
  static constexpr std::uint32_t kMostSteps = 20'000;

  [[nodiscard]] std::uint64_t word(std::uint64_t at) const { return view_.word(at).value_or(0); }
  // Whether the class that is being read may take one more step. Classes that contain each other
  // would take any number.
  [[nodiscard]] bool may_go_on() const { return steps_ < kMostSteps && ++steps_ < kMostSteps; }
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned bytes) const;
  [[nodiscard]] std::string text(std::uint64_t at) const;
  [[nodiscard]] bool is_vtable(std::uint64_t word, std::uint64_t of) const;
  [[nodiscard]] std::unique_ptr<Class> read(std::uint64_t vtable) const;
  void read_array(Class& into) const;

  [[nodiscard]] std::string name_of(std::uint64_t at, int depth) const;
  [[nodiscard]] std::string name_of_type(std::uint64_t type, int depth) const;
  [[nodiscard]] std::vector<std::string> arguments_of(std::uint64_t at, int depth) const;
  // The class of a field's values if they are structures without a header; 0 otherwise.
  [[nodiscard]] std::uint64_t embedded_class(std::uint64_t type) const;
  void add_fields(std::uint64_t of, const FieldsOf& how, std::vector<Field>& into) const;

  const Facts& facts_;
  const runtimes::HeapView& view_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Class>> classes_;  // by vtable
  mutable std::uint32_t steps_ = 0;
};

}  // namespace heapattach::mono
