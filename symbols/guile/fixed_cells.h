#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "symbols/guile/values.h"

// The cells of a fixed size, by tag: libguile's strings.c, symbols.c, hashtab.c, fluids.c and
// others of 2.2.7 and 3.0.8.
namespace heapattach::guile {

// A Part is memory that belongs to the cell; a Target is any other object.
enum class FieldKind : std::uint8_t { None, Value, Part, Target, Raw };

struct FixedField {
  FieldKind kind = FieldKind::None;
  const char* name = nullptr;
  std::uint64_t bytes = 0;  // the minimum size of a part
};

struct FixedCell {
  std::uint64_t tag = 0;
  std::uint64_t flags = 0;  // extra bits of the first word that may be set
  std::uint64_t bytes = 0;
  const char* name = nullptr;
  std::array<FixedField, 4> fields;  // from the second word on
};

inline constexpr FixedField kNoField{};

constexpr FixedField value(const char* name) {
  return {FieldKind::Value, name};
}
constexpr FixedField raw(const char* name) {
  return {FieldKind::Raw, name};
}
constexpr FixedField part(const char* name, std::uint64_t bytes) {
  return {FieldKind::Part, name, bytes};
}
constexpr FixedField target(const char* name) {
  return {FieldKind::Target, name, 1};
}

inline constexpr std::uint64_t kFraction = kNumber | 0x400;

inline constexpr std::array kFixedCells = {
    FixedCell{kSymbol, 0xff00, 32, "symbol", {value("characters"), raw("hash")}},
    FixedCell{kVariable, 0, 16, "variable", {value("value")}},
    FixedCell{kString, 0xff00, 32, "string", {value("characters"), raw("first"), raw("length")}},
    FixedCell{kHashTable, 0, 32, "hash-table", {part("buckets", 16), part("counts", 40)}},
    FixedCell{kPointer, 0, 16, "pointer", {target("target")}},
    FixedCell{kFluid, 0x100, 16, "fluid", {value("default")}},
    FixedCell{kDynamicState, 0, 16, "dynamic-state", {value("values")}},
    FixedCell{kFrame, 0xff00, 16, "frame", {part("state", 32)}},
    FixedCell{kKeyword, 0, 16, "keyword", {value("symbol")}},
    FixedCell{kAtomicBox, 0, 16, "atomic-box", {value("value")}},
    FixedCell{kSyntax, 0, 32, "syntax", {value("expression"), value("wrap"), value("module")}},
    FixedCell{kSyntax,
              0x100,
              40,
              "syntax",
              {value("expression"), value("wrap"), value("module"), value("source")}},
    FixedCell{kStackCopy, 0, 16, "stack copy", {part("state", 48)}},
    FixedCell{kWeakSet, 0, 16, "weak-set", {part("state", 80)}},
    FixedCell{kWeakTable, 0, 16, "weak-table", {part("state", 80)}},
    FixedCell{kBitVector, 0x80, 32, "bitvector", {raw("length"), part("bits", 1)}},
    FixedCell{kPort, 0xffffff80, 32, "port", {target("stream"), part("state", 64), target("type")}},
    FixedCell{kFraction, 0, 32, "fraction", {value("numerator"), value("denominator")}},
};

}  // namespace heapattach::guile
