#pragma once

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"
#include "symbols/nim/type_records.h"
#include "symbols/nim/types.h"
#include "symbols/types/type_model.h"

// The types of a Nim program without debug information, from the information that it has about them
// itself at run time.
namespace heapattach::nim {

inline constexpr std::string_view kFromRecords = "runtime-type-info";

// As debug information would describe them. Symbols name an object's type without capitals. Without
// symbols it is named by its fields: "(object with name, visits)". `modules` are the program's.
[[nodiscard]] types::TypeModel describe_records(const std::vector<TypeRecord>& records,
                                                const Modules& modules);

}  // namespace heapattach::nim
