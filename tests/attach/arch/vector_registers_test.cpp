#include "attach/arch/vector_registers.h"

#include <cstring>

#include <doctest/doctest.h>

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
  CHECK(vector_words(saved) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(vector_words(std::span(saved).first(512)) == std::vector<std::uint64_t>{1, 2});
  CHECK(vector_words({}).empty());
}

}  // namespace heapattach
