#pragma once

#include <cstddef>
#include <string>

#include "attach/result.h"
#include "report/format/read/json_lines.h"
#include "report/format/read/line_source.h"
#include "report/model/model.h"

// Reads what Ruby writes of its own heap: the lines of ObjectSpace.dump_all of Ruby 2.1 and later,
// those of ObjectSpace.dump_shapes, and those of the heap_dump gem.
//
// - A type is the name of the object's class, as Ruby prints it: an anonymous class is
//   `#<Class:0x00007f12a0345678>`; a singleton class is passed over. What has no class that a
//   program can see is named by its kind: `imemo(iseq)`, `iclass`, `internal(Array)`. A singleton
//   class itself is a `Class (singleton)`. Classes of one name are one type.
// - An object's size is its `memsize`: what it takes with its buffers. heap_dump has none for most
//   objects: they count as one slot of that time, 40 bytes.
// - A dump lists what is in the heap, dead or alive, and so do we: all count as reachable. Free
//   slots, which `full: true` adds, do not count.
// - References have no names in a dump. An edge is `class`, `superclass`, `[i]` if all elements of
//   an array are references, `@name` if the dump has shapes and all instance variables are
//   references, and `references[i]` otherwise: numbers and symbols are left out there. Of a
//   process, our code in a copy adds the names of constants and variables (own_names.h).
// - Roots are globals of Ruby's names for them; `machine_context` is the machine's stack.
// - Shapes are not objects of the heap. In a file of shapes alone, they are.
//
// Lines may come in any order. A wrong line refuses the file: Malformed, with its number. A dump
// that was cut off is partial. It has no end record: a last line that is incomplete shows it, or
// references to objects that are missing. A few may be: Ruby goes on while it writes.
namespace heapattach::ruby {

struct DumpOptions : read::ReadOptions {
  std::size_t text_bytes = 0;  // of strings and symbols, at most; 0: none
  bool by_line = false;        // types are divided by where their objects were allocated
  // Of a dump that we had a copy of a process write: what was allocated in a file of this name is
  // left out, and the last line must be `{"type":"END"}`. Empty: none.
  std::string own_file = {};
};

// Whether the file, unpacked, begins as such a dump does.
[[nodiscard]] bool is_dump(const read::TextFile& file);

Result<snapshot::Snapshot> read_dump(read::TextFile file, const DumpOptions& options);

}  // namespace heapattach::ruby
