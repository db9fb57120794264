#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "attach/base/remote_addr.h"

// The program's types as plain data. Readers of debug information or compiler output fill a
// TypeModel; the code that assigns types to objects reads it without knowing the source.
namespace heapattach::types {

using TypeRef = std::uint32_t;  // index into TypeModel::types()
inline constexpr TypeRef kNoType = 0xffffffff;

enum class Shape : std::uint8_t {
  Opaque,       // unknown contents: void, an incomplete type, a gap in the source
  Number,       // contains no pointer: integers, floats, characters, booleans, symbols
  Enumeration,  // a number whose values have names
  Pointer,      // a word: null, or the address of a `target`
  Code,         // a word: null, or the address of a function
  Struct,       // members one after the other; also an instance of a class
  Union,        // members at the same offset; which of them is valid is unknown
  Array,        // `count` times `target`
};

enum class Encoding : std::uint8_t { None, Unsigned, Signed, Float, Boolean, Character, Symbol };

struct Member {
  std::string name;          // "@user", "next"; empty for an unnamed member, and for a base class
  std::uint64_t offset = 0;  // in bytes from the start of the struct, including its type id
  TypeRef type = kNoType;
  bool is_base = false;         // a base class, whose members belong to this struct
  std::uint8_t bit_count = 0;   // the number of bits of a bit field; 0: whole bytes
  std::uint8_t bit_offset = 0;  // for a bit field: from the lowest bit of the byte at `offset`
  // A virtual base. Only a complete instance has it at this offset, not one that is itself a base
  // of another instance.
  bool is_virtual_base = false;
};

// A virtual base of a C++ class. Its offset depends on the class of the complete instance, for
// which symbols/cxx/virtual_bases.h adds it as a member.
struct VirtualBase {
  TypeRef type = kNoType;
  std::uint64_t slot = 0;  // the place of its offset, in bytes below the vtable's functions
};

struct Enumerator {
  std::string name;
  std::int64_t value = 0;
};

// A number in a struct that chooses the struct's further members. An instance whose number is in no
// branch has no further members that are known.
struct Choice {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  struct Branch {
    std::vector<Range> numbers;
    TypeRef type = kNoType;  // the struct with all members that it has then; may choose again
  };
  std::uint64_t offset = 0;  // of the number, which is unsigned
  std::uint64_t bytes = 0;
  std::vector<Branch> branches;
};

struct Type {
  // The name in the notation of its language, which is the same from every source and unit:
  // "Hash(String, Session)", "struct node", "ns::Order<int>", "struct node *", "int[4]", "(struct
  // at list.c:12)". Qualifiers and typedefs of named types are omitted.
  std::string name;
  Shape shape = Shape::Opaque;
  Encoding encoding = Encoding::None;  // of numbers and enumerations
  std::optional<std::uint64_t> bytes;  // the size of an instance; nothing if unknown
  TypeRef target = kNoType;            // for pointers (kNoType: unknown) and arrays
  std::optional<std::uint64_t> count;  // for arrays; nothing: as many elements as fit
  // A pointer to one instance of a class with a header, never to the first of many: one of
  // Crystal's references.
  bool is_reference = false;
  // A struct whose instances identify their own type: a Crystal class, or a C++ class with virtual
  // functions.
  bool has_header = false;
  std::vector<Member> members;             // of structs and unions, by offset
  std::optional<Choice> choice;            // of structs: `members` are those of all instances
  std::vector<VirtualBase> virtual_bases;  // those that the class itself declares
  bool has_virtual_bases = false;          // the class or a base has some; set by make_sound()
  std::vector<Enumerator> enumerators;     // by value
  std::vector<std::string> known_from;     // as in a snapshot: "dwarf", "type-info", …
};

// A variable and its location: a global, or one of a frame on a captured stack.
struct Variable {
  std::string name;  // "session", "ns::cache"
  TypeRef type = kNoType;
  RemoteAddr address;                  // the first byte; unused if `value` is set
  std::optional<std::uint64_t> value;  // the word, for a variable in a register
  pid_t thread = 0;                    // the thread of a local; 0: a global, or a fiber's local
  std::uint64_t fiber = 0;    // for a local on a suspended fiber's stack: the fiber's object
  std::uint32_t frame = 0;    // for a local: the frame's number; 0 is the innermost
  std::uint32_t inlined = 0;  // for a local: the number of inlined functions around it
};

// All types; each name occurs once. References between types are indices, which never change.
class TypeModel {
 public:
  // The type of this name. If there is none, adds an opaque type to be completed later.
  TypeRef intern(std::string_view name);
  [[nodiscard]] TypeRef find(std::string_view name) const;  // kNoType: there is none
  [[nodiscard]] const Type& operator[](TypeRef ref) const { return types_[ref]; }
  [[nodiscard]] Type& operator[](TypeRef ref) { return types_[ref]; }
  [[nodiscard]] const std::vector<Type>& types() const { return types_; }
  [[nodiscard]] bool empty() const { return types_.empty(); }

  std::vector<Variable> globals;
  std::vector<std::string> notes;          // for -v: what was read, what was missing, and why
  std::vector<std::string> disagreements;  // types that two sources or units describe differently

 private:
  std::vector<Type> types_;
  std::unordered_map<std::string, TypeRef> by_name_;
};

}  // namespace heapattach::types
