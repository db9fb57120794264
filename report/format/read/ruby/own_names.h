#pragma once

#include "report/format/read/ruby/pieces.h"

namespace heapattach::ruby {

// Names the edges and roots of a dump written by a copy of a process. Ruby's dumps contain no such
// names, so our code in the copy writes additional lines before the dump.
//
// - CONST: `address` is a module that has `class` as the constant, class variable or instance
//   variable `name`.
// - IVARS: `name` lists the instance variables of `address` that are references, in order.
//   Used only if the object has the same number of references, because symbols and numbers may or
//   may not be references.
// - GLOBAL: `class` is the value of the global variable `name`.
//
// Call it before the pieces are joined. It consumes these lines.
void apply_own_names(RubyPieces& pieces);

}  // namespace heapattach::ruby
