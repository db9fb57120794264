#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::crystal {

// Reads the compiler's table of a program's types, in either of its two forms, which the content
// distinguishes:
//   JSON, of CRYSTAL_DUMP_TYPE_INFO=FILE (Crystal 1.18 and later): names, ids, sizes, fields;
//   text, of CRYSTAL_DUMP_TYPE_ID=1 (before): names and ids.
// Text may contain several lists, because a compiler that runs macros passes on what their programs
// print. Returns the classes that can have instances of their own, and from JSON also the values in
// fields. In `fields`, structures are replaced by their own fields ("@stack.@bottom"). Fails with
// Malformed, which names the position in the file; a file with an error is not used at all.
using TypeList = std::vector<Type>;
// Reads a file in a sandboxed worker, unless this process has no rights itself. Call it while this
// process has one thread (sandbox.h).
Result<std::vector<TypeList>> read_type_info(const std::string& path,
                                             const Deadline& deadline = {});
Result<std::vector<TypeList>> parse_type_lists(std::string_view text);

// Returns the last of the lists, which is the program's.
Result<TypeList> parse_type_info(std::string_view text);

// The two forms separately.
Result<TypeList> parse_type_info_json(std::string_view text);
Result<std::vector<TypeList>> parse_type_info_text(std::string_view text);

}  // namespace heapattach::crystal
