#include "symbols/code/expression.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("all ways to extract an index from an address are one expression") {
  ExprPool pool;
  const Expr p = pool.argument(0);
  const Expr plain = pool.multiply(pool.bit_and(pool.shift_right(p, 22), 0x7ff), 8);
  // shr 19; and 0x3ff8
  CHECK(pool.bit_and(pool.shift_right(p, 19), 0x3ff8) == plain);
  // and 0x7ff << 22; shr 19
  CHECK(pool.shift_right(pool.bit_and(p, std::uint64_t{0x7ff} << 22), 19) == plain);
  // shl 31; shr 53; shl 3
  CHECK(pool.multiply(pool.shift_right(pool.multiply(p, std::uint64_t{1} << 31), 53), 8) == plain);
  // the same in 32 bits, where only bits that exist are masked
  CHECK(pool.multiply(pool.bit_and(pool.truncate(pool.shift_right(p, 22), 4), 0x7ff), 8) == plain);
}

TEST_CASE("sums are sorted, merged and scaled") {
  ExprPool pool;
  const Expr a = pool.load(pool.constant(0x1000), 8);
  const Expr b = pool.argument(1);
  CHECK(pool.add(a, b) == pool.add(b, a));
  CHECK(pool.subtract(pool.add(a, b), a) == b);
  CHECK(pool.subtract(a, a) == pool.constant(0));
  CHECK(pool.add(pool.add(a, pool.constant(8)), pool.constant(~std::uint64_t{7})) == a);
  // (x + 5) * 8 == x * 8 + 40
  const Expr x = pool.bit_and(pool.shift_right(b, 12), 0x3ff);
  CHECK(pool.multiply(pool.add(x, pool.constant(5)), 8) ==
        pool.add(pool.multiply(x, 8), pool.constant(40)));
}

TEST_CASE("a value written to a register's low bytes is read from there") {
  ExprPool pool;
  const Expr old = pool.argument(2);
  const Expr low = pool.load(pool.constant(0x2000), 1);
  const Expr mixed = pool.insert(old, low, 1);
  CHECK(pool.truncate(mixed, 1) == low);
  CHECK(mixed != low);
  CHECK(pool.insert(pool.constant(0), low, 1) == low);
}

TEST_CASE("bits that cannot be set make no difference") {
  ExprPool pool;
  const Expr half = pool.load(pool.constant(0x3000), 4);
  CHECK(pool.truncate(half, 4) == half);
  CHECK(pool.bit_and(half, ~std::uint64_t{0} << 32) == pool.constant(0));
  CHECK(pool.shift_right(half, 32) == pool.constant(0));
  CHECK(pool.unknown() != pool.unknown());
}

}  // namespace heapattach
