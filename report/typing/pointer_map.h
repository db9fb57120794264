#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "symbols/types/type_model.h"

namespace heapattach::snapshot {

// The possible contents of a word of an instance.
enum class WordKind : std::uint8_t {
  Pointer,       // null, or the address of an instance of the pointed-to type, of the first of
                 // several, or inside one
  Reference,     // null, or the address of one instance that starts with its type id
  Closure,       // null or the address of the data that a Crystal Proc captured
  Conservative,  // anything: unions, and parts that no source describes
};

// A word of an instance that may contain an address.
struct PointerWord {
  std::uint64_t offset = 0;  // in bytes from the start of the instance; a multiple of 8
  WordKind kind = WordKind::Conservative;
  types::TypeRef type = types::kNoType;    // the word's type: a pointer, a closure's Proc, or none
  types::TypeRef holder = types::kNoType;  // the innermost structure around the word
  types::TypeRef container = types::kNoType;  // the C++ container around it, if any
  std::string path;                           // "@point.@next"; empty: the instance itself
  bool is_named = true;                       // false: no path is known
};

// A member that is not split further: a number, a pointer, or a whole array.
struct Leaf {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  types::TypeRef type = types::kNoType;
  std::uint8_t bit_count = 0;  // the number of bits of a bit field; 0: whole bytes
  std::uint8_t bit_offset = 0;
};

// A flattened type: its words that may contain addresses, in order. A word below `known_to` that is
// not listed contains no address.
struct PointerMap {
  // The flexible array member at the end of a structure.
  struct Tail {
    std::uint64_t offset = 0;
    std::string path;  // the path of the array
    types::TypeRef element = types::kNoType;
  };

  std::uint64_t bytes = 0;  // the size of an instance; 0: unknown
  std::uint64_t known_to = ~std::uint64_t{0};
  std::vector<PointerWord> words;
  std::vector<Leaf> leaves;  // the first few hundred
  std::optional<Tail> tail;
  // The structs whose further members a number chooses, with their offsets. Here the words of such
  // members are conservative.
  std::vector<std::pair<std::uint64_t, types::TypeRef>> choices;
};

inline constexpr std::size_t kMostWords = 4096;   // of one type
inline constexpr std::size_t kMostLeaves = 512;   // of one type
inline constexpr std::size_t kLongestPath = 256;  // a longer path counts as unknown

// Flattens a type. Bases and anonymous members are transparent. Unions are conservative, and so are
// words that no member covers, because a source may have omitted a member that it could not
// describe. The work is bounded for any model: anything beyond the limits is conservative.
[[nodiscard]] PointerMap flatten(const types::TypeModel& model, types::TypeRef type);

// The size of an instance; 0 if unknown.
[[nodiscard]] std::uint64_t bytes_of(const types::TypeModel& model, types::TypeRef type);

}  // namespace heapattach::snapshot
