#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heapattach::crystal {

// The source of a fact about types; the words of `known_from` in snapshots.
enum class KnownFrom : std::uint8_t {
  TypeIdSymbol,    // "type-id symbol": of the program
  ClassNameTable,  // "class-name table": in the program
  TypeInfo,        // "type-info"
  TypeIdTable,     // "type-id table"
  AllocationSite,  // "allocation site"
};

[[nodiscard]] std::string_view to_string(KnownFrom source);

struct Field {
  std::string name;  // "@user"
  std::string type;
  std::uint64_t offset = 0;  // from the start of the object, which is its type id
  std::uint64_t bytes = 0;
};

// Everything known about one class. Only the id is always present.
struct Type {
  std::uint32_t id = 0;
  std::string name;  // "Hash(String, Session)"; empty if only its size and kind are known
  std::optional<std::uint64_t> instance_bytes;
  std::optional<bool> is_atomic;  // its instances hold no pointers
  std::vector<Field> fields;      // sorted by offset; empty if the layout is unknown
  std::vector<Field> own_fields;  // the same, with each structure as one field
  bool is_value = false;          // a number or structure: no instances of its own on the heap
  std::vector<KnownFrom> known_from;
  std::vector<std::uint64_t> made_at;  // addresses of code that allocates instances
  std::string label;                   // the label of a class that has no name; may be empty
};

// Crystal's type ids, merged from all sources. Names have the form of canonical_name().
class TypeTable {
 public:
  // Adds or completes a type. Returns false, without effect, if `type` contradicts the name that a
  // better source gave the id. A type without a name agrees with every other type of the same id.
  bool add(Type type);

  // Sets the label of a type without a name.
  void set_label(std::uint32_t id, std::string label);

  [[nodiscard]] const Type* find(std::uint32_t id) const;
  [[nodiscard]] const Type* find(std::string_view name) const;
  [[nodiscard]] const std::vector<Type>& types() const { return types_; }
  [[nodiscard]] bool empty() const { return types_.empty(); }
  // Numbers and structures, which occur in fields but not as objects. Not among types().
  [[nodiscard]] const std::vector<Type>& values() const { return values_; }
  // How often two sources gave the same id different names. If not zero, a type table is from
  // another build.
  [[nodiscard]] std::size_t contradictions() const { return contradictions_; }

 private:
  std::vector<Type> types_;
  std::vector<Type> values_;
  std::unordered_map<std::uint32_t, std::size_t> by_id_;
  std::size_t contradictions_ = 0;
};

}  // namespace heapattach::crystal
