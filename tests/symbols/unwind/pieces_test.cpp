#include "symbols/unwind/pieces.h"

#include <vector>

#include <doctest/doctest.h>
#include <dwarf.h>

#include "tests/symbols/types/typed_program.h"

namespace heapattach::unwind {

namespace {

Dwarf_Op op(unsigned atom, std::uint64_t number = 0) {
  return {static_cast<std::uint8_t>(atom), number, 0, 0};
}

// "<path> <type>" of the pointer at an offset of a variable of the program; empty if there is none.
std::string pointer_in(const types::OpenDwarf& dwarf,
                       const std::string& variable,
                       std::uint64_t offset) {
  types::DwarfNames names(dwarf.get());
  const auto type = types::die_at(dwarf.variable(variable), DW_AT_type);
  REQUIRE(type);
  const auto pointer = pointer_at(*type, offset, names);
  return pointer ? pointer->path + " " + pointer->type : "";
}

}  // namespace

TEST_CASE("a variable in several locations is known piece by piece") {
  const std::vector<Dwarf_Op> expression = {op(DW_OP_reg3),        op(DW_OP_piece, 8),
                                            op(DW_OP_piece, 4),    op(DW_OP_lit5),
                                            op(DW_OP_stack_value), op(DW_OP_piece, 8)};
  const auto pieces = pieces_of(expression);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].offset == 0);
  CHECK(pieces[0].bytes == 8);
  REQUIRE(pieces[0].expression.size() == 1);
  CHECK(pieces[0].expression[0].atom == DW_OP_reg3);
  CHECK(pieces[1].offset == 8);
  CHECK(pieces[1].expression.empty());  // this piece is nowhere
  CHECK(pieces[2].offset == 12);
  CHECK(pieces[2].expression.size() == 2);
}

TEST_CASE("a variable in one location has no pieces") {
  CHECK(pieces_of({}).empty());
  const std::vector<Dwarf_Op> whole = {op(DW_OP_breg6, 16), op(DW_OP_deref)};
  CHECK(pieces_of(whole).empty());
}

TEST_CASE("impossible pieces are ignored, however many there are") {
  const std::vector<Dwarf_Op> huge = {op(DW_OP_reg0), op(DW_OP_piece, ~std::uint64_t{0}),
                                      op(DW_OP_reg1), op(DW_OP_piece, 8)};
  CHECK(pieces_of(huge).empty());
  const std::vector<Dwarf_Op> many(1000, op(DW_OP_piece, 8));
  CHECK(pieces_of(many).size() < many.size());
}

TEST_CASE("a piece is the pointer at its offset") {
  for (const std::string& program : types::typed_programs("c")) {
    CAPTURE(program);
    const types::OpenDwarf dwarf(program);
    CHECK(pointer_in(dwarf, "first", 0) == ".next struct node *");
    CHECK(pointer_in(dwarf, "first", 8) == ".name char *");
    CHECK(pointer_in(dwarf, "all", 24) == "[3] struct node **");
    CHECK(pointer_in(dwarf, "head", 0) == " struct node *");
  }
}

TEST_CASE("a piece that is not a whole pointer is ignored") {
  for (const std::string& program : types::typed_programs("c")) {
    CAPTURE(program);
    const types::OpenDwarf dwarf(program);
    CHECK(pointer_in(dwarf, "first", 4) == "");
    CHECK(pointer_in(dwarf, "first", 24) == "");  // an array of numbers
    CHECK(pointer_in(dwarf, "first", 1 << 20) == "");
    CHECK(pointer_in(dwarf, "origin", 0) == "");
    CHECK(pointer_in(dwarf, "head", 8) == "");
    CHECK(pointer_in(dwarf, "count", 0) == "");
  }
}

}  // namespace heapattach::unwind
