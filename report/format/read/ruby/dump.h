#pragma once

#include <cstddef>
#include <string>

#include "attach/base/result.h"
#include "report/format/read/json_lines.h"
#include "report/format/read/line_source.h"
#include "report/model/model.h"

// Reads Ruby's dumps of its own heap: the output of ObjectSpace.dump_all (Ruby 2.1 and later), of
// ObjectSpace.dump_shapes, and of the heap_dump gem.
//
// - A type is the name of the object's class, as Ruby prints it: an anonymous class is
//   `#<Class:0x00007f12a0345678>`; singleton classes are skipped. An object without a class that a
//   program can see is named after its kind: `imemo(iseq)`, `iclass`, `internal(Array)`. A
//   singleton class itself is a `Class (singleton)`. Classes of one name are one type.
// - An object's size is its `memsize`, including its buffers. heap_dump has none for most
//   objects, which count as one slot of those Ruby versions, 40 bytes.
// - A dump lists all objects in the heap, dead or alive, and so do we: all count as reachable. Free
//   slots, which `full: true` adds, do not count.
// - References have no names in a dump. An edge is `class`, `superclass`, `[i]` if all elements of
//   an array are references, `@name` if the dump has shapes and all instance variables are
//   references, and `references[i]` otherwise, because dumps omit numbers and symbols. For a
//   process, our code in the copy adds the names of constants and variables.
// - Roots are globals with Ruby's names for them; `machine_context` is the machine stack.
// - Shapes do not count as objects, except in a file that contains only shapes.
//
// Lines may come in any order. A malformed line makes the file Malformed, with the line number. A
// dump that was cut off is partial. Dumps have no end record, so this is recognised by an
// incomplete last line or by references to missing objects. A few missing objects are normal,
// because Ruby keeps running while it writes.
namespace heapattach::ruby {

struct DumpOptions : read::ReadOptions {
  std::size_t text_bytes = 0;  // of strings and symbols, at most; 0: none
  bool by_line = false;        // divide types by where their objects were allocated
  // For a dump written by our copy of a process: objects allocated in a file of this name are
  // skipped, and the last line must be `{"type":"END"}`. Empty for other dumps.
  std::string own_file = {};
  // Whether the table in which Ruby records where objects were allocated is ours, too: the program
  // did not trace its allocations before. read_dump() finds out.
  bool has_own_table = false;
};

// Whether the file, after decompression, starts like such a dump.
[[nodiscard]] bool is_dump(const read::TextFile& file);

Result<snapshot::Snapshot> read_dump(read::TextFile file, const DumpOptions& given);

}  // namespace heapattach::ruby
