#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/mono/facts.h"
#include "symbols/mono/images.h"
#include "symbols/mono/words.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::mono {

// A field of a class, or of a value in it: "_size", "_entries", "key.X".
struct Field {
  std::uint64_t offset = 0;  // from the object's start, or from that of the static fields
  std::string name;
  std::string type;  // as declared: "System.Int32"
  bool is_reference = false;
  std::uint64_t bytes = 8;
  runtimes::Shape::Number::Kind kind = runtimes::Shape::Number::Kind::Unread;  // of a number
  std::vector<runtimes::Shape::Named> names = {};  // of the values of an enumeration
};

// Adds fields to a shape of objects, or of static fields, of so many bytes.
void add_fields(const std::vector<Field>& fields, std::uint64_t bytes, runtimes::Shape& into);

// The class of all objects that begin with one vtable.
struct Class {
  std::string name;  // "Shop.Session", "System.Int32[]"
  std::uint64_t at = 0;
  std::uint64_t domain = 0;
  std::uint64_t instance_bytes = 0;  // header included; of an array or a string, at least
  bool is_array = false;
  bool is_string = false;
  std::uint64_t element_bytes = 0;  // of an array
  std::vector<Field> fields;        // of an object, or of an array's element
  // The offsets of a delegate's method, and of its list of combined delegates; 0: the objects are
  // not delegates.
  std::uint64_t delegate_method = 0;
  std::uint64_t delegate_list = 0;
  std::uint64_t static_fields_at = 0;  // 0: none
  std::uint64_t static_bytes = 0;
};

// A [ThreadStatic] field: each thread has its own copy, in one of its chunks.
struct ThreadField {
  std::uint64_t chunk = 0;
  Field field;  // its offset is in the chunk
};
inline constexpr std::uint64_t kThreadChunks = 8;
[[nodiscard]] constexpr std::uint64_t thread_chunk_bytes(std::uint64_t chunk) {
  return std::uint64_t{1024} << 2 * chunk;
}

// Reads classes. Trusts no number: a class takes a bounded number of steps, and only text that is
// safe to show is a name.
class ClassReader {
 public:
  // Borrows `facts`.
  ClassReader(const Facts& facts, ReadWord read)
      : facts_(facts), read_(std::move(read)), images_(read_) {}
  ClassReader(const ClassReader&) = delete;
  ClassReader& operator=(const ClassReader&) = delete;

  // The class whose objects begin with this word; null if it is not a vtable that its class knows.
  const Class* of_first_word(std::uint64_t word);

  // The name at `at`; empty if there is none.
  [[nodiscard]] std::string name_at(std::uint64_t at) const { return text(at); }
  // "Game.Bank.Transfer", or "(method 0x6000003 of bank.exe)" if the file's names cannot be
  // believed. Empty if the method at `at` has no name.
  [[nodiscard]] std::string method_name(std::uint64_t at) const;
  // Whether a method is at `at`, and not something that the runtime made.
  [[nodiscard]] bool is_method(std::uint64_t at) const;

  // The vtables of all classes that are in use in a domain (Class::domain).
  [[nodiscard]] std::vector<std::uint64_t> vtables_of(std::uint64_t domain);
  // The class among them that has this name; null if there is none.
  [[nodiscard]] const Class* find(std::uint64_t domain,
                                  std::string_view space,
                                  std::string_view name,
                                  std::uint64_t& vtable);
  // The static fields of a class.
  [[nodiscard]] std::vector<Field> static_fields(const Class& of);
  // The [ThreadStatic] fields of all classes of a domain. Their names begin with their classes:
  // "Game.Cache.Current".
  [[nodiscard]] std::vector<ThreadField> thread_fields(std::uint64_t domain);
  // All domains.
  [[nodiscard]] std::vector<std::uint64_t> domains() const;
  // The name of a domain, such as "tests.exe"; empty if it is unknown.
  [[nodiscard]] std::string domain_name(std::uint64_t domain);

  // What to tell the user about the names that could not be believed so far.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct FieldsOf;
  static constexpr std::uint32_t kMostSteps = 20'000;

  [[nodiscard]] std::uint64_t word(std::uint64_t at) const { return read_(at).value_or(0); }
  // Whether the class that is being read may take one more step. Without a limit, reading classes
  // that contain each other would never end.
  [[nodiscard]] bool may_go_on() const { return steps_ < kMostSteps && ++steps_ < kMostSteps; }
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned bytes) const {
    return number_at(read_, at, bytes).value_or(0);
  }
  [[nodiscard]] std::string text(std::uint64_t at) const { return text_at(read_, at); }
  // The file that the class at `of` is from; null if its names can be believed.
  [[nodiscard]] const Image* changed_image(std::uint64_t of) const;
  // The name of a field of the class at `of`, or its offset if the name cannot be believed: "+16".
  [[nodiscard]] std::string field_name(std::uint64_t of,
                                       std::uint64_t field,
                                       std::uint64_t offset) const;
  [[nodiscard]] bool is_vtable(std::uint64_t word, std::uint64_t of) const;
  [[nodiscard]] std::unique_ptr<Class> read(std::uint64_t vtable);
  // Reads what the class has in common in all domains; nothing if it has no name.
  [[nodiscard]] std::optional<Class> read_common(std::uint64_t at) const;
  struct VtableList {
    std::uint64_t at = 0;  // in the domain
    std::uint64_t array = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] std::optional<VtableList> vtable_list(std::uint64_t domain);
  [[nodiscard]] bool is_thread_field(std::uint64_t at) const;
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> thread_field_table(
      std::uint64_t table) const;
  void read_array(Class& into) const;
  void read_delegate(Class& into) const;

  [[nodiscard]] std::string name_of(std::uint64_t at, int depth) const;
  [[nodiscard]] std::string name_of_type(std::uint64_t type, int depth) const;
  [[nodiscard]] std::vector<std::string> arguments_of(std::uint64_t at, int depth) const;
  // The class of a field's values if they are structures without a header; 0 otherwise.
  [[nodiscard]] std::uint64_t embedded_class(std::uint64_t type) const;
  [[nodiscard]] bool is_enumeration(std::uint64_t of) const;
  [[nodiscard]] std::uint64_t type_of_values(std::uint64_t enumeration) const;
  // The names of an enumeration's values; empty if they are unknown.
  [[nodiscard]] const std::vector<runtimes::Shape::Named>& names_of_values(
      std::uint64_t enumeration) const;
  // Whether a structure is a System.Decimal with all four parts at the usual offsets.
  [[nodiscard]] bool is_decimal(std::uint64_t of) const;
  [[nodiscard]] Field field_of(std::uint64_t type, std::uint64_t offset, std::string name) const;
  void add_fields(std::uint64_t of, const FieldsOf& how, std::vector<Field>& into) const;
  void add_field(std::uint64_t type,
                 std::uint64_t offset,
                 const std::string& name,
                 int depth,
                 std::vector<Field>& into) const;

  const Facts& facts_;
  ReadWord read_;
  mutable ImageReader images_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Class>> classes_;  // by vtable
  std::unordered_map<std::uint64_t, std::optional<Class>> common_;     // by class
  mutable std::unordered_map<std::uint64_t, std::vector<runtimes::Shape::Named>> names_of_values_;
  mutable std::uint32_t steps_ = 0;
};

}  // namespace heapattach::mono
