#include <initializer_list>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>

#include "symbols/boehm/accessors.h"
#include "symbols/boehm/arch/evaluator.h"

namespace heapattach::boehm {

namespace {

constexpr RemoteAddr kCode{0x401000};
constexpr RemoteAddr kArrays{0x505000};  // the value of the word at 0x403000

// Instructions at kCode.
class A64 {
 public:
  A64(std::initializer_list<std::uint32_t> code) : A64(std::vector<std::uint32_t>(code)) {}
  explicit A64(std::vector<std::uint32_t> code) : words_(std::move(code)) {
    source_.code = [this](RemoteAddr at) -> std::span<const std::byte> {
      const auto bytes = std::as_bytes(std::span(words_));
      const std::uint64_t offset = at - kCode;
      return offset < bytes.size() ? bytes.subspan(offset) : std::span<const std::byte>();
    };
    source_.constant = [](RemoteAddr at) -> std::optional<std::uint64_t> {
      if (at == RemoteAddr{0x403000}) return kArrays.value;
      return std::nullopt;
    };
  }
  A64(const A64&) = delete;
  A64& operator=(const A64&) = delete;

  std::vector<FunctionPath> paths(ExprPool& pool, const EvaluationLimits& limits = {}) const {
    return evaluate(pool, disassembler_, source_, kCode, limits);
  }
  AccessorReader reader() const { return AccessorReader(disassembler_, source_); }

 private:
  std::vector<std::uint32_t> words_;
  CodeSource source_;
  Disassembler disassembler_ = Disassembler::open(EM_AARCH64).value();
};

// The result of code that has only one path.
Expr returned(const A64& code, ExprPool& pool) {
  const auto paths = code.paths(pool);
  REQUIRE(paths.size() == 1);
  return paths[0].returned;
}

}  // namespace

TEST_CASE("aarch64: an argument goes through the frame of an unoptimised function") {
  // sub sp, sp, #16; str x0, [sp, #8]; ldr x0, [sp, #8]; ldr x0, [x0, #32]; add sp, sp, #16; ret
  const A64 code = {0xd10043ff, 0xf90007e0, 0xf94007e0, 0xf9401000, 0x910043ff, 0xd65f03c0};
  ExprPool pool;
  CHECK(returned(code, pool) == pool.load(pool.add(pool.argument(0), pool.constant(0x20)), 8));
}

TEST_CASE("aarch64: an entry of the global offset table is the address in it") {
  // adrp x0, 0x403000; ldr x0, [x0]; ldr w0, [x0, #4]; ret
  const A64 code = {0xd0000000, 0xf9400000, 0xb9400400, 0xd65f03c0};
  ExprPool pool;
  CHECK(returned(code, pool) == pool.load(pool.constant(kArrays.value + 4), 4));
}

TEST_CASE("aarch64: numbers are built from parts") {
  ExprPool pool;
  // mov x0, #0x2222; movk x0, #0x1111, lsl #16; ret
  CHECK(returned({0xd2844440, 0xf2a22220, 0xd65f03c0}, pool) == pool.constant(0x11112222));
  // mov x0, #-1; ret
  CHECK(returned({0x92800000, 0xd65f03c0}, pool) == pool.constant(~std::uint64_t{0}));
  // mov w0, #0x80202 (mov w0, #0x202; movk w0, #8, lsl #16); ret
  CHECK(returned({0x52804040, 0x72a00100, 0xd65f03c0}, pool) == pool.constant(0x80202));
  // orr x0, xzr, #0xff00ff00ff00ff00; ret
  CHECK(returned({0xb2089fe0, 0xd65f03c0}, pool) == pool.constant(0xff00ff00ff00ff00));
}

TEST_CASE("aarch64: both sides of a jump are followed, and its comparison is recorded") {
  // cbz x0, +12; ldr w0, [x0]; ret; mov w0, wzr; ret
  const A64 code = {0xb4000060, 0xb9400000, 0xd65f03c0, 0x2a1f03e0, 0xd65f03c0};
  ExprPool pool;
  const auto paths = code.paths(pool);
  REQUIRE(paths.size() == 2);
  CHECK(paths[0].returned == pool.load(pool.argument(0), 4));
  CHECK(paths[1].returned == pool.constant(0));
  REQUIRE(paths[0].comparisons.size() == 1);
  CHECK(paths[0].comparisons[0].left == pool.argument(0));
  CHECK(paths[0].comparisons[0].right == pool.constant(0));
}

TEST_CASE("aarch64: the result of a comparison is a condition") {
  // cmp w0, #0; cset w0, ne; ret
  ExprPool pool;
  const Expr low = pool.truncate(pool.argument(0), 4);
  CHECK(returned({0x7100001f, 0x1a9f07e0, 0xd65f03c0}, pool) ==
        pool.condition(low, pool.constant(0)));
}

TEST_CASE("aarch64: calls within a module are followed, and return with a signed address, too") {
  // paciasp; stp x29, x30, [sp, #-16]!; bl +16; ldp x29, x30, [sp], #16; autiasp; ret;
  // add x0, x0, x1, lsl #2; ret
  const A64 code = {0xd503233f, 0xa9bf7bfd, 0x94000004, 0xa8c17bfd,
                    0xd50323bf, 0xd65f03c0, 0x8b010800, 0xd65f03c0};
  ExprPool pool;
  CHECK(returned(code, pool) == pool.add(pool.argument(0), pool.multiply(pool.argument(1), 4)));
}

TEST_CASE("aarch64: the layout is learned from the collector's own accessors") {
  // GC_get_kind_and_size of release 8.2.2, as gcc 12 compiles it, with GC_arrays at kArrays. Its
  // code also shows where the size is.
  const A64 code = {0xd0000003, 0xf9400063, 0xd3568002, 0xd28a27c4, 0x8b040042,
                    0xd356fc04, 0xf8627862, 0xf9500845, 0xeb05009f, 0x54000120,
                    0xf9406065, 0x14000005, 0xf9500c42, 0xf9500843, 0xeb03009f,
                    0x54000060, 0xeb0200bf, 0x54ffff61, 0xd34c5400, 0xf8607840,
                    0xb4000061, 0xf9401002, 0xf9000022, 0x39406000, 0xd65f03c0};
  auto reader = code.reader();
  const auto found = reader.read_layout(kCode, kCode);
  REQUIRE(found);
  const Layout& layout = found->layout;
  CHECK(layout.top_index == kArrays + 0x289f0);
  CHECK(layout.top_shift == 22);
  CHECK(layout.top_mask == 0x7ff);
  CHECK(layout.block_shift == 12);
  CHECK(layout.bottom_mask == 0x3ff);
  CHECK(layout.bottom_key == 8208);
  CHECK(layout.bottom_next == 8216);
  CHECK(layout.header_size == 32);
  CHECK(layout.header_kind == 24);
  CHECK(found->all_nils == kArrays + 0xc0);
  CHECK(found->all_nils_is_variable);
}

TEST_CASE("aarch64: an endless loop is cut off") {
  ExprPool pool;
  CHECK(A64{0x14000000}.paths(pool).empty());      // b .
  CHECK(A64{0x94000000}.paths(pool).size() <= 1);  // bl .
  // subs x0, x0, #1; b.ne -4; ret
  CHECK(A64{0xf1000400, 0x54ffffe1, 0xd65f03c0}.paths(pool).size() == EvaluationLimits{}.visits);
}

TEST_CASE("aarch64: a function without code has no paths") {
  ExprPool pool;
  CHECK(A64(std::vector<std::uint32_t>()).paths(pool).empty());
  CHECK(A64{0xd4200020}.paths(pool).empty());  // brk #1
  CHECK(A64{0x00000000}.paths(pool).empty());  // udf
  CHECK(A64{0xd503201f}.paths(pool).empty());  // nop, and no more
}

TEST_CASE("aarch64: random code is followed within bounds and does no harm") {
  std::mt19937 random(4711);
  std::size_t count = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint32_t> words(100);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    for (int i = 0; i < 20; ++i) words[random() % words.size()] = 0xd65f03c0;
    ExprPool pool;
    count += A64(std::move(words)).paths(pool, {.instructions = 2000}).size();
  }
  CHECK(count > 0);
}

}  // namespace heapattach::boehm
