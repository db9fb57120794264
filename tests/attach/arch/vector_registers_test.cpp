#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "attach/arch/vector_words.h"

namespace heapattach {

TEST_CASE("vector registers are taken from the area of XSAVE, without what controls them") {
  std::vector<std::byte> saved(1088);
  const auto put = [&saved](std::size_t at, std::uint64_t word) {
    std::memcpy(saved.data() + at, &word, sizeof word);
  };
  put(24, 0x1f80);           // MXCSR
  put(32, 1);                // st0
  put(160 + 5 * 16, 2);      // xmm5
  put(464, 99);              // the features that the kernel has saved
  put(512, 7);               // the header
  put(576 + 3 * 16 + 8, 3);  // the upper half of ymm3
  CHECK(words_of_xsave(saved) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(words_of_xsave(std::span(saved).first(512)) == std::vector<std::uint64_t>{1, 2});
  CHECK(words_of_xsave({}).empty());
}

TEST_CASE("vector registers of aarch64 are all that the processor has, with SVE and without") {
  constexpr std::size_t kRegisters = 32;
  constexpr std::size_t kHeader = 16;
  std::vector<std::byte> basic(kRegisters * 16 + 16);
  const auto put = [](std::vector<std::byte>& into, std::size_t at, std::uint64_t word) {
    std::memcpy(into.data() + at, &word, sizeof word);
  };
  put(basic, 8, 1);         // the upper half of v0
  put(basic, 31 * 16, 2);   // v31
  put(basic, 32 * 16, 99);  // fpsr and fpcr
  CHECK(words_of_fpsimd(basic) == std::vector<std::uint64_t>{1, 2});

  const auto with_header = [&](std::uint16_t length, std::uint16_t flags, std::size_t bytes) {
    std::vector<std::byte> saved(kHeader + bytes);
    std::memcpy(saved.data() + 8, &length, sizeof length);
    std::memcpy(saved.data() + 12, &flags, sizeof flags);
    return saved;
  };
  std::vector<std::byte> sve = with_header(32, 1, kRegisters * 32 + 17 * 4);
  put(sve, kHeader + 24, 3);               // the upper half of z0
  put(sve, kHeader + 31 * 32, 4);          // z31
  put(sve, kHeader + kRegisters * 32, 9);  // p0
  CHECK(words_of_sve(sve) == std::vector<std::uint64_t>{3, 4});

  std::vector<std::byte> unused = with_header(32, 0, basic.size());
  std::copy(basic.begin(), basic.end(), unused.begin() + kHeader);
  CHECK(words_of_sve(unused) == std::vector<std::uint64_t>{1, 2});
  CHECK(words_of_sve(std::span(unused).first(8)).empty());
}

}  // namespace heapattach
