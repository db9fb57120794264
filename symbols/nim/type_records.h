#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

// The type information that a Nim program keeps for itself at run time: a record for each type that
// it allocates, and a tree of nodes for the fields of such a type. (Source: lib/system/hti.nim of
// 1.6, without gcHooks; the program fills its records when it starts.)
namespace heapattach::nim {

// The kinds of types that this room distinguishes. An object type without derived types and without
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

// What a `case` of an object type says: which branch the value of the discriminator chooses.
struct CaseRecord {
  struct Branch {
    std::uint32_t branch = 0;  // as in FieldRecord
    std::vector<types::Choice::Range> values;
  };
  std::size_t discriminator = 0;  // the index of the field
  std::vector<Branch> branches;
};

struct TypeRecord {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;  // of an instance; of a pointer for references, sequences and strings
  std::uint64_t align = 0;
  std::uint8_t kind = 0;
  std::uint64_t base = 0;  // the record of the base, the target or the element; 0: none
  std::string symbol;      // empty: the program has no symbols
  std::vector<FieldRecord> fields;
  std::vector<CaseRecord> cases;  // one inside a branch comes after the one that it is inside of
};

// The type records of a program, ordered by address. Symbols name the records; without such
// symbols, the main program's data are searched for anything of a record's form. Records in the
// list refer only to records in the list. The list is empty unless at least one of its types has
// fields.
[[nodiscard]] std::vector<TypeRecord> find_type_records(const Modules& modules,
                                                        const MemoryReader& memory);

}  // namespace heapattach::nim
