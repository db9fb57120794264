#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/model/model.h"
#include "report/typing/naming.h"
#include "report/typing/pointer_map.h"
#include "symbols/nim/types.h"
#include "symbols/runtimes/object_names.h"
#include "symbols/types/type_model.h"

namespace heapattach::snapshot {

inline constexpr TypeIndex kNoRow = ~TypeIndex{0};

// A pointer's claim about the object that it points to.
struct Claim {
  enum class How : std::uint8_t {
    Instance,  // one instance at the object's start, or as many as fit, as for a C pointer
    Elements,  // a buffer: elements from the object's start on; the pointer may be into the middle
    Start,     // something starts at this address, and no more is known
  };
  std::uint64_t offset = 0;  // the pointer's offset in the instance or the element
  std::uint64_t bytes = 0;   // the size of an instance or element; 0: unknown
  // The pointer may point into the object at a multiple of this many bytes; 0: only to its start.
  std::uint64_t step = 0;
  // The bytes before the first element, if the pointer points into the object. If it points to the
  // start, there is no header.
  std::uint64_t header = 0;
  TypeIndex one = kNoRow;   // the row of an object with one instance
  TypeIndex many = kNoRow;  // the row of an object with several instances; kNoRow: impossible
  // The row of an object with one instance of the type or of a type derived from it. kNoRow: there
  // is no such type, or each object shows its own type.
  TypeIndex one_or_subtype = kNoRow;
  How how = How::Instance;
  bool by_kind = false;  // an object is atomic exactly if it contains no pointers, as in Crystal
  // The row of an object that should be atomic but is not, as from a C library.
  TypeIndex other_kind = kNoRow;
  bool has_tail = false;        // an instance may be larger than its type
  std::uint32_t condition = 0;  // a number of TypeRows::holds()
};

// A claim is valid only if a number in the same instance or element is in one of the ranges, and
// another condition holds, too.
struct ClaimCondition {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // no more than a word
  std::vector<types::Choice::Range> numbers;
  std::uint32_t other = 0;
};

// How to read the words of an instance. Offsets are in bytes.
struct RowLayout {
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};

  bool is_precise = false;               // false: every word may be a pointer
  std::vector<std::uint64_t> words;      // words that may be pointers
  std::uint64_t known_to = kEverything;  // after this offset, every word may be a pointer
  std::uint64_t elements_at = 0;
  std::uint64_t element_bytes = 0;  // 0: no elements
  std::vector<std::uint64_t> element_words;
  std::vector<Claim> claims;
  std::vector<Claim> element_claims;

  [[nodiscard]] bool has_claims() const { return !claims.empty() || !element_claims.empty(); }
  // Whether the known part of an instance contains pointers.
  [[nodiscard]] bool has_pointers() const {
    return !is_precise || !words.empty() || !element_words.empty();
  }
  // Whether an instance may contain pointers, as far as is known.
  [[nodiscard]] bool may_point() const { return has_pointers() || known_to != kEverything; }
};

// All possible rows of objects: first the rows of Naming, in its order, and then the rows that can
// only come from a reference (buffers, and structures without a header). The rows depend only on
// the types, so they are made before the target is held; only rows for variables on its stacks are
// added later.
class TypeRows {
 public:
  // Borrows both, which must not change.
  TypeRows(const Naming& naming, const types::TypeModel& model);

  [[nodiscard]] const std::vector<Type>& types() const { return types_; }
  [[nodiscard]] const RowLayout& layout(TypeIndex row) const { return layouts_[row]; }
  // The sizes of the types that are derived from the type of the row's instances, and that begin
  // with an instance of it.
  [[nodiscard]] std::span<const std::uint64_t> subtype_bytes(TypeIndex row) const;
  // Whether any row makes claims about other objects.
  [[nodiscard]] bool has_claims() const { return has_claims_; }
  // The words of the row's instances that point to a String or to memory that is no instance,
  // whatever the first word there looks like.
  [[nodiscard]] std::span<const crystal::BufferPointer> buffer_pointers(TypeIndex row) const;
  [[nodiscard]] bool has_buffer_pointers() const { return has_buffer_pointers_; }
  // Whether instances of the row contain their type, but nothing describes their fields.
  [[nodiscard]] bool has_unknown_fields(TypeIndex row) const {
    return row < has_unknown_fields_.size() && has_unknown_fields_[row];
  }

  // Whether a claim's condition holds for the instance or element at `from`. Number 0 always holds.
  [[nodiscard]] bool holds(std::uint32_t condition,
                           std::span<const std::byte> contents,
                           std::uint64_t from) const {
    return condition == 0 || is_met(condition, contents, from);
  }
  // The row for an instance of this row with these contents: another one with the same name if a
  // number in it chooses some of its members.
  [[nodiscard]] TypeIndex chosen_row(TypeIndex row, std::span<const std::byte> contents) const {
    return choices_.empty() ? row : choose(row, contents);
  }

  // The layout of a variable of this type. Adds the rows to which it refers.
  [[nodiscard]] const RowLayout& variable(types::TypeRef type);

  // Adds rows for the shapes of objects that a runtime's reader has named. Call this once.
  void add_named(runtimes::ObjectNames names);
  [[nodiscard]] bool has_named() const { return !named_.shapes().empty(); }
  // The row of the object with this number, from its shape; kNoRow if it has no shape.
  [[nodiscard]] TypeIndex named_row(std::uint64_t number) const {
    const runtimes::ShapeNumber shape = named_.at(number);
    return shape == runtimes::ObjectNames::kNone ? kNoRow : first_named_ + shape;
  }

  // The shape of a row of named objects; null for any other row.
  [[nodiscard]] const runtimes::Shape* shape_of(TypeIndex row) const;

  // Notes for -v: types whose two sources contradict each other, so that their fields are ignored.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const types::TypeModel& model() const { return model_; }
  // The type's name in the program's language.
  [[nodiscard]] const std::string& shown(types::TypeRef type) const;
  // Whether objects of the row are texts of Nim: a word with the length, another word, and the
  // characters.
  [[nodiscard]] bool is_nim_text(TypeIndex row) const;
  [[nodiscard]] const Naming& naming() const { return naming_; }
  // The model's type of a row's instances, or of its elements; kNoType if there is none.
  [[nodiscard]] types::TypeRef type_of(TypeIndex row) const { return refs_[row]; }

 private:
  enum class Kind : std::uint8_t {
    One,
    OneOrSubtype,
    Many,
    Buffer,
    Headed,
    Closure,
    Unknown,
    Held
  };
  using Key = std::tuple<Kind, types::TypeRef, std::string>;

  TypeIndex intern(const Key& key);
  TypeIndex add_row(Type type, types::TypeRef ref);
  void fill(const Key& key, TypeIndex row);
  void fill_class(TypeIndex row);
  void fill_waiting();
  void fill_instance(types::TypeRef ref, PointerMap map, RowLayout& layout, Type& named);
  void fill_elements(types::TypeRef element, std::uint64_t at, RowLayout& layout, Type& named);
  void add_claims(const PointerWord& word, std::vector<Claim>& claims);
  void add_variant_claims(const PointerWord& word, std::vector<Claim>& claims);
  void add_choice_claims(const PointerMap& map,
                         std::uint64_t at,
                         std::uint32_t condition,
                         std::vector<Claim>& claims,
                         int depth = 0);
  PointerMap further_of(types::TypeRef branch, std::uint64_t offset, const PointerMap& map);
  std::uint32_t add_condition(ClaimCondition condition);
  void add_chosen_rows(TypeIndex row, int depth = 0);
  [[nodiscard]] bool is_met(std::uint32_t condition,
                            std::span<const std::byte> contents,
                            std::uint64_t from) const;
  [[nodiscard]] TypeIndex choose(TypeIndex row, std::span<const std::byte> contents) const;
  std::optional<Claim> claim_of(const PointerWord& word);
  std::optional<Claim> claim_of_container(const PointerWord& word);
  std::optional<Claim> claim_of_pointer(const PointerWord& word);
  std::optional<Claim> buffer_claim(types::TypeRef element, const std::string& holder);
  std::optional<Claim> headed_claim(types::TypeRef element, const std::string& holder);
  std::optional<Claim> instance_claim(types::TypeRef target);
  [[nodiscard]] std::string holder_of(const PointerWord& word) const;
  PointerMap map_of(types::TypeRef ref);
  void fall_back(TypeIndex row);
  void claim_the_rest(TypeIndex row);
  void find_subtypes();
  void add_buffer_pointers(TypeIndex row, const PointerMap& map);

  const Naming& naming_;
  const types::TypeModel& model_;
  std::unordered_map<types::TypeRef, std::vector<std::uint64_t>> subtype_bytes_;  // by base
  nim::ShownNames shown_;  // the names of types that have another name in the model
  std::vector<Type> types_;
  std::vector<RowLayout> layouts_;
  std::vector<types::TypeRef> refs_;
  std::map<Key, TypeIndex> rows_;
  std::vector<std::pair<Key, TypeIndex>> waiting_;  // rows to be filled
  std::map<types::TypeRef, RowLayout> variables_;
  std::vector<std::vector<crystal::BufferPointer>> buffer_pointers_;
  std::vector<bool> has_unknown_fields_;
  std::vector<ClaimCondition> conditions_{1};
  std::unordered_map<TypeIndex, std::vector<TypeIndex>> choices_;  // by row: one for each branch
  runtimes::ObjectNames named_;
  TypeIndex first_named_ = 0;  // the row of the first shape; the others follow in order
  std::vector<std::string> notes_;
  std::size_t words_ = 0;
  bool has_claims_ = false;
  bool has_buffer_pointers_ = false;
};

}  // namespace heapattach::snapshot
