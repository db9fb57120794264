#pragma once

#include "report/format/read/ruby/pieces.h"

namespace heapattach::ruby {

// Names the edges and roots of a dump that a copy of a process wrote: a dump has none, so our code
// in the copy writes lines of its own before it.
//
// - CONST: `address` is a module that has `class` as the constant, class variable or instance
//   variable `name`.
// - IVARS: `name` lists the instance variables of `address` that are references, in their order.
//   They count only if the object has as many references: a symbol or a number may be one or not.
// - GLOBAL: `class` is the value of the global variable `name`.
//
// Call it before the pieces are joined. It uses up their own names.
void apply_own_names(RubyPieces& pieces);

}  // namespace heapattach::ruby
