#pragma once

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"
#include "symbols/nim/type_records.h"
#include "symbols/nim/types.h"
#include "symbols/types/type_model.h"

// The types of a Nim program without debug information, from the type information that the program
// keeps for its own use at run time.
namespace heapattach::nim {

inline constexpr std::string_view kFromRecords = "runtime-type-info";

// Describes the types as debug information would. An object type is named by its symbol, which has
// no capitals, or without symbols by its fields: "(object with name, visits)". `modules` are the
// program's.
[[nodiscard]] types::TypeModel describe_records(const std::vector<TypeRecord>& records,
                                                const Modules& modules);

}  // namespace heapattach::nim
