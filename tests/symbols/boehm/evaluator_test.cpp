#include "symbols/boehm/arch/evaluator.h"

#include <initializer_list>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "attach/arch/processors.h"

namespace heapattach::boehm {

namespace {

constexpr RemoteAddr kCode{0x401000};

// Code at kCode.
struct Program {
  explicit Program(std::vector<std::byte> code) : bytes(std::move(code)) {}
  Program(std::initializer_list<unsigned> code) {
    for (const unsigned byte : code) bytes.push_back(static_cast<std::byte>(byte));
  }

  std::vector<FunctionPath> paths(ExprPool& pool, const EvaluationLimits& limits = {}) const {
    CodeSource source;
    source.code = [this](RemoteAddr at) -> std::span<const std::byte> {
      const std::uint64_t offset = at - kCode;
      return offset < bytes.size() ? std::span(bytes).subspan(offset)
                                   : std::span<const std::byte>();
    };
    source.constant = [](RemoteAddr at) -> std::optional<std::uint64_t> {
      if (at == RemoteAddr{0x403000}) return 0x505000;
      return std::nullopt;
    };
    const Disassembler disassembler = Disassembler::open(kOwnProcessor).value();
    return evaluate(pool, disassembler, source, kCode, limits);
  }

  std::vector<std::byte> bytes;
};

}  // namespace

TEST_CASE("an argument goes through the frame of an unoptimised function") {
  // push rbp; mov rbp, rsp; mov [rbp-8], rdi; mov rax, [rbp-8]; mov rax, [rax+0x20]; pop rbp; ret
  const Program program = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0xf8, 0x48,
                           0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x40, 0x20, 0x5d, 0xc3};
  ExprPool pool;
  const auto paths = program.paths(pool);
  REQUIRE(paths.size() == 1);
  CHECK(paths[0].returned == pool.load(pool.add(pool.argument(0), pool.constant(0x20)), 8));
  CHECK(paths[0].stores.empty());
}

TEST_CASE("an entry of the global offset table is the address in it") {
  // mov rax, [rip+0x1ff9]; mov eax, [rax+4]; ret
  const Program program = {0x48, 0x8b, 0x05, 0xf9, 0x1f, 0x00, 0x00, 0x8b, 0x40, 0x04, 0xc3};
  ExprPool pool;
  const auto paths = program.paths(pool);
  REQUIRE(paths.size() == 1);
  CHECK(paths[0].returned == pool.load(pool.constant(0x505004), 4));
}

TEST_CASE("both sides of a jump are followed, and its comparison is recorded") {
  // test rdi, rdi; je +3; mov eax, [rdi]; ret; xor eax, eax; ret
  const Program program = {0x48, 0x85, 0xff, 0x74, 0x03, 0x8b, 0x07, 0xc3, 0x31, 0xc0, 0xc3};
  ExprPool pool;
  const auto paths = program.paths(pool);
  REQUIRE(paths.size() == 2);
  const Expr loaded = pool.load(pool.argument(0), 4);
  CHECK((paths[0].returned == loaded || paths[1].returned == loaded));
  CHECK(paths[0].returned != paths[1].returned);
  REQUIRE(paths[0].comparisons.size() == 1);
  CHECK(paths[0].comparisons[0].left == pool.argument(0));
  CHECK(paths[0].comparisons[0].right == pool.constant(0));
}

TEST_CASE("calls within a module are followed") {
  // call +1; ret; lea rax, [rdi+rsi*4]; ret
  const Program program = {0xe8, 0x01, 0x00, 0x00, 0x00, 0xc3, 0x48, 0x8d, 0x04, 0xb7, 0xc3};
  ExprPool pool;
  const auto paths = program.paths(pool);
  REQUIRE(paths.size() == 1);
  CHECK(paths[0].returned == pool.add(pool.argument(0), pool.multiply(pool.argument(1), 4)));
}

TEST_CASE("an endless loop is cut off") {
  ExprPool pool;
  SUBCASE("jmp to itself") {
    CHECK(Program{0xeb, 0xfe}.paths(pool).empty());
  }
  SUBCASE("a call of itself") {
    CHECK(Program{0xe8, 0xfb, 0xff, 0xff, 0xff}.paths(pool).size() <= 1);
  }
  SUBCASE("dec rdi; jne back; ret") {
    const auto paths = Program{0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}.paths(pool);
    CHECK(paths.size() == EvaluationLimits{}.visits);
  }
}

TEST_CASE("a function without code has no paths") {
  ExprPool pool;
  CHECK(Program{}.paths(pool).empty());
  CHECK(Program{0x0f, 0x0b}.paths(pool).empty());  // ud2
  CHECK(Program{0x48}.paths(pool).empty());        // cut short
}

TEST_CASE("random code is followed within bounds and does no harm") {
  std::mt19937 random(4711);
  std::size_t returned = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> bytes(200);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    // Bytes of instructions that the evaluator knows, so that they occur often.
    constexpr unsigned kOften[] = {0xc3, 0x48, 0x8b, 0x89, 0x50, 0x74,
                                   0xc1, 0x0f, 0xb0, 0x01, 0xff};
    for (int i = 0; i < 100; ++i)
      bytes[random() % 200] = static_cast<std::byte>(kOften[random() % 11]);
    ExprPool pool;
    returned += Program(std::move(bytes)).paths(pool, {.instructions = 2000}).size();
  }
  CHECK(returned > 0);
}

}  // namespace heapattach::boehm
