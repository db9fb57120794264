#include "symbols/unwind/location.h"

#include <vector>

#include <doctest/doctest.h>
#include <dwarf.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach::unwind {

namespace {

Dwarf_Op op(unsigned atom, std::uint64_t number = 0, std::uint64_t offset = 0) {
  return {static_cast<std::uint8_t>(atom), number, 0, offset};
}

struct Place {
  MachineState state;
  FakeMemory memory;

  std::optional<Location> follow(std::vector<Dwarf_Op> expression) const {
    return unwind::follow(expression, {state, memory, 0x1000, 0x7000, 0x6000});
  }
  [[nodiscard]] std::uint64_t address(std::vector<Dwarf_Op> expression) const {
    const auto found = follow(std::move(expression));
    REQUIRE(found);
    CHECK(found->kind == Location::Kind::Address);
    return found->value;
  }
};

constexpr auto minus(std::uint64_t number) {
  return 0 - number;
}

}  // namespace

TEST_CASE("an expression gives the location of a variable") {
  Place place;
  place.state.set(6, 0x5000);
  place.memory.put(RemoteAddr{0x5010}, std::uint64_t{0x1122334455667788});
  CHECK(place.address({op(DW_OP_fbreg, minus(24))}) == 0x6000 - 24);
  CHECK(place.address({op(DW_OP_breg6, 16)}) == 0x5010);
  CHECK(place.address({op(DW_OP_addr, 0x20)}) == 0x1020);
  CHECK(place.address({op(DW_OP_call_frame_cfa), op(DW_OP_plus_uconst, 8)}) == 0x7008);
  CHECK(place.address({op(DW_OP_breg6, 16), op(DW_OP_deref)}) == 0x1122334455667788);
  CHECK(place.address({op(DW_OP_breg6, 16), op(DW_OP_deref_size, 2)}) == 0x7788);

  const auto in_register = place.follow({op(DW_OP_reg3)});
  REQUIRE(in_register);
  CHECK(in_register->kind == Location::Kind::Register);
  CHECK(in_register->value == 3);
  const auto computed = place.follow({op(DW_OP_breg6, 1), op(DW_OP_stack_value)});
  REQUIRE(computed);
  CHECK(computed->kind == Location::Kind::Value);
  CHECK(computed->value == 0x5001);
}

TEST_CASE("an expression computes, compares and jumps") {
  Place place;
  // The expression for frames of the procedure linkage table.
  CHECK(place.address({op(DW_OP_const1u, 0x1c), op(DW_OP_lit15), op(DW_OP_and), op(DW_OP_lit11),
                       op(DW_OP_ge), op(DW_OP_lit3), op(DW_OP_shl)}) == 8);
  CHECK(place.address({op(DW_OP_lit5), op(DW_OP_lit2), op(DW_OP_swap), op(DW_OP_minus)}) ==
        minus(3));
  CHECK(place.address({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_over), op(DW_OP_drop)}) == 2);
  CHECK(place.address({op(DW_OP_lit1, 0, 0), op(DW_OP_lit1, 0, 1), op(DW_OP_bra, 1, 2),
                       op(DW_OP_lit9, 0, 5), op(DW_OP_lit4, 0, 6)}) == 4);
}

TEST_CASE("an expression with unknown inputs gives nothing") {
  const Place place;
  CHECK_FALSE(place.follow({}));
  CHECK_FALSE(place.follow({op(DW_OP_breg3, 8)}));
  CHECK_FALSE(place.follow({op(DW_OP_lit8), op(DW_OP_deref)}));
  CHECK_FALSE(place.follow({op(DW_OP_plus)}));
  CHECK_FALSE(place.follow({op(DW_OP_lit1), op(DW_OP_pick, 5)}));
  CHECK_FALSE(place.follow({op(DW_OP_reg3), op(DW_OP_piece, 4)}));
  CHECK_FALSE(place.follow({op(DW_OP_entry_value)}));
  CHECK_FALSE(place.follow({op(DW_OP_lit1), op(DW_OP_deref_size, 9)}));
}

TEST_CASE("an endless expression is abandoned") {
  const Place place;
  CHECK_FALSE(place.follow({op(DW_OP_skip, minus(3), 0)}));
  CHECK_FALSE(place.follow({op(DW_OP_lit1, 0, 0), op(DW_OP_skip, minus(4), 1)}));
  CHECK_FALSE(place.follow({op(DW_OP_skip, 100, 0), op(DW_OP_lit1, 0, 3)}));
}

}  // namespace heapattach::unwind
