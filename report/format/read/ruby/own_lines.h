#pragma once

#include "report/format/read/ruby/pieces.h"

namespace heapattach::ruby {

// Ruby's dumps contain neither the names of references nor numbers. So our code in the copy of a
// process writes additional lines before the dump.
//
// - CONST: `address` is a module that has `class` as the constant, class variable or instance
//   variable `name`, or another object that has it as the field `name`.
// - IVARS: `name` lists the instance variables of `address` that are references, in order.
//   Used only if the object has the same number of references, because symbols and numbers may or
//   may not be references.
// - GLOBAL: `class` is the value of the global variable `name`.
// - VALUES: `name` lists fields of `address` with their values: "@hits=3 @state=:open @owner=nil".
//   A Symbol with other letters is in hexadecimal digits: "@state=;696e20757365".
// - TEXT: `name` is the beginning of the text of `address`, after ":", or in hexadecimal digits
//   after ";". The whole text has `length` bytes.
//
// Applies them to the dump. Call it before the pieces are joined. It consumes these lines.
void apply_own_lines(RubyPieces& pieces);

}  // namespace heapattach::ruby
