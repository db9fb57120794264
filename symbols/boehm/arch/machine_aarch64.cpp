#include "symbols/boehm/arch/machine_aarch64.h"

#include <algorithm>
#include <bit>

// Arm Architecture Reference Manual, C4.1: the encodings; C6.2: the instructions.

namespace heapattach::boehm::aarch64 {

namespace {

constexpr unsigned kArguments = 8;  // AAPCS64: in x0 to x7
// How an address moves with an access (bits 10 and 11, or 23 and 24).
constexpr unsigned kAfterwards = 1;
constexpr unsigned kBefore = 3;

constexpr std::uint64_t ones(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The number that an instruction of logic has in 13 bits (DecodeBitMasks in the manual): a run of
// ones, rotated, in elements of 2 to 64 bits that are repeated. 0 if they encode none.
std::uint64_t logic_mask(Fields fields) {
  const unsigned lengths = fields.bits(10, 6);
  const unsigned code = (fields.bit(22) ? 0x40U : 0U) | (~lengths & 0x3fU);
  if (code < 2) return 0;
  const unsigned element = 1U << (std::bit_width(code) - 1U);
  const unsigned run = (lengths & (element - 1)) + 1;
  const unsigned turn = fields.bits(16, 6) & (element - 1);
  if (run == element) return 0;
  std::uint64_t mask = ones(run);
  if (turn != 0) mask = (mask >> turn | mask << (element - turn)) & ones(element);
  for (unsigned bits = element; bits < 64; bits *= 2) mask |= mask << bits;
  return mask;
}

}  // namespace

MachineState Machine::at_entry(RemoteAddr entry) {
  MachineState state;
  state.pc = entry;
  for (Expr& one : state.registers) one = pool_.unknown();
  for (unsigned i = 0; i < kArguments; ++i) state.registers.at(i) = pool_.argument(i);
  state.registers.at(kLink) = pool_.constant(kReturnToCaller);
  state.registers.at(kStackPointer) = pool_.stack();
  return state;
}

Expr Machine::value(const MachineState& state, unsigned reg, unsigned width) {
  return reg == kStackPointer ? pool_.constant(0) : value_or_stack(state, reg, width);
}

Expr Machine::value_or_stack(const MachineState& state, unsigned reg, unsigned width) {
  return pool_.truncate(state.registers.at(reg), width);
}

void Machine::set(MachineState& state, unsigned reg, Expr value, unsigned width) {
  if (reg != kStackPointer) set_or_stack(state, reg, value, width);
}

void Machine::set_or_stack(MachineState& state, unsigned reg, Expr value, unsigned width) {
  state.registers.at(reg) = pool_.truncate(value, width);
}

bool Machine::compute(MachineState& state, Fields fields) {
  return address(state, fields) || add_number(state, fields) || add_register(state, fields) ||
         logic_number(state, fields) || logic_register(state, fields) ||
         move_number(state, fields) || move_bits(state, fields) || multiply(state, fields) ||
         shift_by_register(state, fields);
}

// adr, adrp.
bool Machine::address(MachineState& state, Fields fields) {
  if (fields.bits(24, 5) != 0x10) return false;
  const std::uint64_t here = state.pc.value - kInstructionBytes;
  const std::int64_t distance = with_sign(fields.bits(5, 19) << 2U | fields.bits(29, 2), 21);
  const auto page = page_of(fields.word, here);
  set(state, fields.target(),
      pool_.constant(page ? *page : here + static_cast<std::uint64_t>(distance)), 8);
  return true;
}

// add, sub and their forms that compare.
void Machine::add(MachineState& state, Fields fields, Expr left, Expr right, bool is_to_stack) {
  const bool subtracts = fields.bit(30);
  const bool compares = fields.bit(29);
  const unsigned width = fields.width();
  if (compares) {
    const Expr with =
        subtracts ? right : pool_.truncate(pool_.subtract(pool_.constant(0), right), width);
    state.path.comparisons.push_back({left, with});
  }
  const Expr result = subtracts ? pool_.subtract(left, right) : pool_.add(left, right);
  if (is_to_stack && !compares) {
    set_or_stack(state, fields.target(), result, width);
  } else {
    set(state, fields.target(), result, width);
  }
}

bool Machine::add_number(MachineState& state, Fields fields) {
  if (fields.bits(24, 5) != 0x11 || fields.bit(23)) return false;
  const std::uint64_t number = std::uint64_t{fields.bits(10, 12)} << (fields.bit(22) ? 12U : 0U);
  const Expr left = value_or_stack(state, fields.left(), fields.width());
  add(state, fields, left, pool_.constant(number), true);
  return true;
}

bool Machine::add_register(MachineState& state, Fields fields) {
  if (fields.bits(24, 5) != 0x0b) return false;
  const unsigned width = fields.width();
  const Expr right = value(state, fields.right(), width);
  if (!fields.bit(21)) {
    add(state, fields, value(state, fields.left(), width),
        shifted(right, fields.bits(22, 2), fields.bits(10, 6), width), false);
    return true;
  }
  const Expr wide = extended(value(state, fields.right(), 8), fields.bits(13, 3));
  add(state, fields, value_or_stack(state, fields.left(), width),
      pool_.truncate(pool_.multiply(wide, std::uint64_t{1} << fields.bits(10, 3)), width), true);
  return true;
}

// lsl, lsr, asr, ror by a number.
Expr Machine::shifted(Expr value, unsigned kind, unsigned count, unsigned width) {
  if (count == 0) return value;
  const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
  if (kind == 0) return pool_.truncate(pool_.multiply(value, std::uint64_t{1} << count), width);
  const bool is_exact = kind == 1 || (kind == 2 && (pool_.possible_bits(value) & sign) == 0);
  return is_exact ? pool_.shift_right(value, count) : pool_.unknown();
}

// uxtb, uxth, uxtw, uxtx, and the same with the sign.
Expr Machine::extended(Expr value, unsigned option) {
  const unsigned from = 1U << (option & 3U);
  const Expr low = pool_.truncate(value, from);
  return option < 4 ? low : sign_extended(low, from, 8);
}

// The sum of values without common bits: or and exclusive or of them.
Expr Machine::disjoint(Expr left, Expr right) {
  const bool are_apart = (pool_.possible_bits(left) & pool_.possible_bits(right)) == 0;
  return are_apart ? pool_.add(left, right) : pool_.unknown();
}

// and, orr, eor, ands.
void Machine::logic(MachineState& state, Fields fields, Expr left, Expr right) {
  const unsigned kind = fields.bits(29, 2);
  Expr result = left;
  if (kind == 0 || kind == 3) {
    const auto mask = pool_.constant_of(right);
    const auto other = pool_.constant_of(left);
    if (mask) {
      result = pool_.bit_and(left, *mask);
    } else if (other) {
      result = pool_.bit_and(right, *other);
    } else if (left != right) {
      result = pool_.unknown();
    }
  } else if (left != right) {
    result = disjoint(left, right);
  } else if (kind == 2) {
    result = pool_.constant(0);
  }
  if (kind == 3) state.path.comparisons.push_back({result, pool_.constant(0)});
  set(state, fields.target(), result, fields.width());
}

bool Machine::logic_number(MachineState& state, Fields fields) {
  if (fields.bits(23, 6) != 0x24) return false;
  const Expr mask = pool_.truncate(pool_.constant(logic_mask(fields)), fields.width());
  const bool is_to_stack = fields.bits(29, 2) != 3 && fields.target() == kStackPointer;
  if (is_to_stack) {
    set_or_stack(state, kStackPointer, pool_.unknown(), 8);
  } else {
    logic(state, fields, value(state, fields.left(), fields.width()), mask);
  }
  return true;
}

bool Machine::logic_register(MachineState& state, Fields fields) {
  if (fields.bits(24, 5) != 0x0a) return false;
  const unsigned width = fields.width();
  Expr right =
      shifted(value(state, fields.right(), width), fields.bits(22, 2), fields.bits(10, 6), width);
  if (fields.bit(21)) {  // its complement
    const auto number = pool_.constant_of(right);
    right = number ? pool_.truncate(pool_.constant(~*number), width) : pool_.unknown();
  }
  logic(state, fields, value(state, fields.left(), width), right);
  return true;
}

// movz, movn, movk.
bool Machine::move_number(MachineState& state, Fields fields) {
  if (fields.bits(23, 6) != 0x25) return false;
  const unsigned up = 16 * fields.bits(21, 2);
  const std::uint64_t number = std::uint64_t{fields.bits(5, 16)} << up;
  const Expr old = value(state, fields.target(), fields.width());
  switch (fields.bits(29, 2)) {
    case 0: set(state, fields.target(), pool_.constant(~number), fields.width()); break;
    case 2: set(state, fields.target(), pool_.constant(number), fields.width()); break;
    default: {
      const Expr others = pool_.bit_and(old, ~(std::uint64_t{0xffff} << up));
      set(state, fields.target(), pool_.add(others, pool_.constant(number)), fields.width());
    }
  }
  return true;
}

// ubfm, sbfm, bfm: shifts and extensions by a number, and fields of bits.
bool Machine::move_bits(MachineState& state, Fields fields) {
  if (fields.bits(23, 6) != 0x26) return false;
  const unsigned width = fields.width();
  const unsigned right = fields.bits(16, 6);
  const unsigned last = fields.bits(10, 6);
  if (std::max(right, last) >= 8 * width) return false;  // no such instruction
  const Expr from = value(state, fields.left(), width);
  const bool goes_left = last < right;
  const unsigned count = last + 1 - (goes_left ? 0 : right);
  Expr field = goes_left ? pool_.multiply(pool_.bit_and(from, ones(count)),
                                          std::uint64_t{1} << (8 * width - right))
                         : pool_.bit_and(pool_.shift_right(from, right), ones(count));
  const unsigned kind = fields.bits(29, 2);
  if (kind == 0) {
    const std::uint64_t sign = std::uint64_t{1} << last;
    const bool is_whole = right == 0 && (count == 8 || count == 16 || count == 32);
    const bool is_positive = (pool_.possible_bits(from) & sign) == 0;
    if (is_whole) field = sign_extended(field, count / 8, width);
    if (!is_whole && !is_positive) field = pool_.unknown();
  } else if (kind != 2) {
    field = pool_.unknown();
  }
  set(state, fields.target(), field, width);
  return true;
}

// madd, msub and their forms for products of halves.
bool Machine::multiply(MachineState& state, Fields fields) {
  if (fields.bits(24, 5) != 0x1b) return false;
  const unsigned kind = fields.bits(21, 3);
  const bool takes_halves = kind == 5 || kind == 1;
  const unsigned from = takes_halves ? 4 : fields.width();
  const auto side = [&](unsigned reg) {
    const Expr half = value(state, reg, from);
    return kind == 1 ? sign_extended(half, 4, 8) : half;
  };
  const Expr left = side(fields.left());
  const Expr right = side(fields.right());
  Expr product = pool_.unknown();
  if (const auto factor = pool_.constant_of(right)) {
    product = pool_.multiply(left, *factor);
  } else if (const auto other = pool_.constant_of(left)) {
    product = pool_.multiply(right, *other);
  }
  const Expr base = value(state, fields.second(), fields.width());
  const Expr sum = fields.bit(15) ? pool_.subtract(base, product) : pool_.add(base, product);
  const bool is_known = kind == 0 || takes_halves;
  set(state, fields.target(), is_known ? sum : pool_.unknown(), fields.width());
  return true;
}

// lslv, lsrv, asrv.
bool Machine::shift_by_register(MachineState& state, Fields fields) {
  constexpr unsigned kFirst = 8;
  const unsigned kind = fields.bits(10, 6) - kFirst;
  if (fields.bits(21, 10) != 0xd6 || kind > 2) return false;
  const unsigned width = fields.width();
  const auto count = pool_.constant_of(value(state, fields.right(), width));
  const Expr from = value(state, fields.left(), width);
  const unsigned bits = count ? static_cast<unsigned>(*count & (8 * width - 1)) : 0;
  set(state, fields.target(), count ? shifted(from, kind, bits, width) : pool_.unknown(), width);
  return true;
}

bool Machine::access_memory(MachineState& state, Fields fields) {
  return load_literal(state, fields) || access_pair(state, fields) ||
         access_in_order(state, fields) || access_one(state, fields);
}

bool Machine::load_literal(MachineState& state, Fields fields) {
  if ((fields.word & 0x3b000000U) != 0x18000000U) return false;
  const bool is_vector = fields.bit(26);
  const unsigned size = fields.bits(30, 2);
  if (is_vector || size == 3) return true;  // or a hint
  const std::int64_t distance = with_sign(fields.bits(5, 19), 19) * 4;
  const Expr at =
      pool_.constant(state.pc.value - kInstructionBytes + static_cast<std::uint64_t>(distance));
  const Expr loaded = load(state, at, size == 1 ? 8 : 4);
  set(state, fields.target(), size == 2 ? sign_extended(loaded, 4, 8) : loaded, 8);
  return true;
}

// The address of an access to the memory at register left(), which the access may move.
Expr Machine::moved_base(MachineState& state, Fields fields, std::int64_t distance, unsigned mode) {
  const Expr base = value_or_stack(state, fields.left(), 8);
  const Expr moved = pool_.add(base, pool_.constant(static_cast<std::uint64_t>(distance)));
  const bool moves = mode == kAfterwards || mode == kBefore;
  if (moves) set_or_stack(state, fields.left(), moved, 8);
  return mode == kAfterwards ? base : moved;
}

// ldp, stp.
bool Machine::access_pair(MachineState& state, Fields fields) {
  if ((fields.word & 0x3a000000U) != 0x28000000U) return false;
  const unsigned kind = fields.bits(30, 2);
  const bool is_vector = fields.bit(26);
  const unsigned width = is_vector ? 4U << kind : kind == 2 ? 8 : 4;
  const std::int64_t distance = with_sign(fields.bits(15, 7), 7) * std::int64_t{width};
  const bool loads = fields.bit(22);
  const Expr first = value(state, fields.target(), width > 8 ? 8 : width);
  const Expr second = value(state, fields.second(), width > 8 ? 8 : width);
  const Expr at = moved_base(state, fields, distance, fields.bits(23, 2));
  const Expr next = pool_.add(at, pool_.constant(width));
  if (is_vector) {
    if (!loads) store(state, at, pool_.unknown(), 8);
  } else if (loads) {
    const auto take = [&](unsigned reg, Expr from) {
      const Expr loaded = load(state, from, width);
      set(state, reg, kind == 1 ? sign_extended(loaded, 4, 8) : loaded, 8);
    };
    take(fields.target(), at);
    take(fields.second(), next);
  } else {
    store(state, at, first, width);
    store(state, next, second, width);
  }
  return true;
}

// ldr, str and their forms for less than a word.
bool Machine::access_one(MachineState& state, Fields fields) {
  const unsigned size = fields.bits(30, 2);
  if ((fields.word & 0x3b000000U) == 0x39000000U) {
    const unsigned scale = fields.bit(26) && fields.bit(23) ? 4 : size;
    const std::int64_t distance = std::int64_t{fields.bits(10, 12)} << scale;
    transfer(state, fields, moved_base(state, fields, distance, 0));
    return true;
  }
  if ((fields.word & 0x3b200000U) == 0x38000000U) {
    transfer(state, fields,
             moved_base(state, fields, with_sign(fields.bits(12, 9), 9), fields.bits(10, 2)));
    return true;
  }
  if ((fields.word & 0x3b200c00U) != 0x38200800U) return false;
  const Expr index = extended(value(state, fields.right(), 8), fields.bits(13, 3));
  const std::uint64_t scale = fields.bit(12) ? std::uint64_t{1} << size : 1;
  const Expr base = value_or_stack(state, fields.left(), 8);
  transfer(state, fields, pool_.add(base, pool_.multiply(index, scale)));
  return true;
}

void Machine::transfer(MachineState& state, Fields fields, Expr at) {
  const unsigned size = fields.bits(30, 2);
  const unsigned width = 1U << size;
  const unsigned kind = fields.bits(22, 2);
  if (fields.bit(26)) {
    if ((kind & 1U) == 0) store(state, at, pool_.unknown(), 8);
  } else if (kind == 0) {
    store(state, at, value(state, fields.target(), width), width);
  } else if (kind == 1) {
    set(state, fields.target(), load(state, at, width), 8);
  } else if (size != 3) {  // otherwise a hint
    set(state, fields.target(), sign_extended(load(state, at, width), width, kind == 2 ? 8 : 4), 8);
  }
}

// Accesses that other threads see in order, and attempts to store (ldar, ldxr, stlr, stxr).
bool Machine::access_in_order(MachineState& state, Fields fields) {
  const unsigned width = 1U << fields.bits(30, 2);
  const Expr at = value_or_stack(state, fields.left(), 8);
  if ((fields.word & 0x3ffffc00U) == 0x38bfc000U) {  // ldapr
    set(state, fields.target(), load(state, at, width), 8);
    return true;
  }
  if ((fields.word & 0x3f200000U) != 0x08000000U) return false;
  const bool is_attempt = !fields.bit(23);
  if (fields.bit(22)) {
    set(state, fields.target(), load(state, at, width), 8);
    return true;
  }
  store(state, at, value(state, fields.target(), width), width);
  if (is_attempt) set(state, fields.right(), pool_.constant(0), 8);  // it succeeds
  return true;
}

void Machine::forget_written(MachineState& state, Fields fields) {
  const unsigned group = fields.bits(25, 4);
  const bool is_vector = (group & 7U) == 7;
  const bool moves_out = (fields.word & 0x5f20fc00U) == 0x1e200000U ||  // fmov, fcvt…
                         (fields.word & 0xbfe0d400U) == 0x0e001400U;    // umov, smov
  if (is_vector && !moves_out) return;
  set(state, fields.target(), pool_.unknown(), 8);
  const bool is_access = (group & 5U) == 4;
  if (is_access) {
    set(state, fields.second(), pool_.unknown(), 8);
    set(state, fields.right(), pool_.unknown(), 8);
  }
}

// Assumes that only the returned value changes: compilers read another register that a call may
// change only if they know that the callee preserves it (gcc's -fipa-ra).
void Machine::forget_call(MachineState& state) {
  state.registers.at(0) = pool_.unknown();
}

}  // namespace heapattach::boehm::aarch64
