#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

// The evaluator of Nix 2.8.
//
// A value is an object of three words, and the first word has its type in four bytes. A value that
// was not computed yet is a thunk: the expression that computes it, and the environment with its
// variables. Expressions are C++ objects in malloc's memory, which we know by their vtables, and
// which have their places in the program's source. (Sources: value.hh, nixexpr.hh, attr-set.hh,
// eval.hh and symbol-table.hh of 2.8.0.)
namespace heapattach::nix {

// The types of values.
enum ValueType : std::uint32_t {
  kInt = 1,
  kBool,
  kString,
  kPath,
  kNull,
  kSet,
  kList1,  // a list of one element, which is in the value
  kList2,  // a list of two elements, which are in the value
  kList,
  kThunk,
  kApplication,  // a function and its argument, not called yet
  kLambda,
  kBeingComputed,  // a thunk whose value is being computed; its other words are unchanged
  kPrimOp,
  kPartialPrimOp,
  kExternal,
  kFloat,
};

// Offsets in values, environments, sets of attributes, and PrimOps.
inline constexpr std::uint64_t kValueBytes = 24;
inline constexpr std::uint64_t kFirst = 8;  // the words of a value that depend on its type
inline constexpr std::uint64_t kSecond = 16;
inline constexpr std::uint64_t kUp = 0;       // the environment around this one
inline constexpr std::uint64_t kEnvType = 8;  // two bytes, and zeros up to the next word
inline constexpr std::uint64_t kVariables = 16;
inline constexpr std::uint64_t kSetPosition = 0;
inline constexpr std::uint64_t kSetSize = 8;  // four bytes each, the capacity after it
inline constexpr std::uint64_t kAttributes = 16;
inline constexpr std::uint64_t kAttributeBytes = 24;  // a name, a value, a position
inline constexpr std::uint64_t kAttributeValue = 8;
inline constexpr std::uint64_t kAttributePosition = 16;
inline constexpr std::uint64_t kPrimOpName = 16;

// A class of expressions.
struct ExpressionClass {
  enum class Place : std::uint8_t {
    None,
    Own,    // the expression itself has a position, at `offset`
    Part,   // a part of it has the position; the part's address is at `offset`
    Parts,  // the first part has the position; a vector of parts is at `offset`
  };
  std::string_view vtable;  // its symbol
  Place place = Place::None;
  std::uint64_t offset = 0;
  bool is_lambda = false;
  bool is_set = false;
};

struct Facts {
  std::uint64_t no_position = 0;  // the address that means no position
  // The classes by the first word of their expressions.
  std::unordered_map<std::uint64_t, const ExpressionClass*> classes;
};

// Returns nothing if the target is not Nix, or is another release: other releases represent
// positions in another way.
[[nodiscard]] std::optional<Facts> find_nix(const Modules& modules, const MemoryReader& memory);

// Whether the position that means "none" looks as in 2.8: no file, line 0, and the origin of a
// string.
[[nodiscard]] bool is_no_position(RemoteAddr at, const MemoryReader& memory);

// All classes.
[[nodiscard]] std::span<const ExpressionClass> expression_classes();

}  // namespace heapattach::nix
