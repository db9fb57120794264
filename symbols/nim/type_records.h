#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

// The type information that a Nim program keeps for itself at run time: a record for each type that
// it allocates, and a tree of nodes for the fields of such a type. (Source: lib/system/hti.nim of
// 1.6, without gcHooks; the program fills its records when it starts.)
namespace heapattach::nim {

// The kinds of types that are told apart here. An object type without derived types and without
// bases has the kind of a tuple.
enum TypeKind : std::uint8_t {
  kBoolType = 1,
  kCharType = 2,
  kDistinctType = 13,
  kEnumType = 14,
  kArrayType = 16,
  kObjectType = 17,
  kTupleType = 18,
  kSetType = 19,
  kRangeType = 20,
  kPtrType = 21,
  kRefType = 22,
  kVarType = 23,
  kSequenceType = 24,
  kProcType = 25,
  kPointerType = 26,
  kStringType = 28,
  kCstringType = 29,
  kIntType = 31,
  kUint64Type = 44,
};

struct FieldRecord {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t type = 0;    // the address of its record
  std::uint32_t branch = 0;  // of a variant object: different branches may share memory; 0: in all
};

struct TypeRecord {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;  // of an instance; of a pointer for references, sequences and strings
  std::uint64_t align = 0;
  std::uint8_t kind = 0;
  std::uint64_t base = 0;  // the record of the base, the target or the element; 0: none
  std::string symbol;      // empty: the program has no symbols
  std::vector<FieldRecord> fields;
};

// The records of a program, by address: those that symbols name, or without such symbols those that
// the main program's data have the form of. Every record refers only to others that are in the
// list, and at least one of them has fields; otherwise there are none.
[[nodiscard]] std::vector<TypeRecord> find_type_records(const Modules& modules,
                                                        const MemoryReader& memory);

}  // namespace heapattach::nim
