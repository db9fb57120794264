#include "symbols/boehm/own_variables.h"

#include <doctest/doctest.h>

namespace heapattach::boehm {

TEST_CASE("the collector's variables are those between the first and the last known one") {
  const std::vector<Symbol> symbols = {{"GC_mine", {0x1000}, 8, false},  // of the program
                                       {"GC_collect_a_little", {0x800}, 64, true},
                                       {"GC_page_size", {0x3000}, 8, false},
                                       {"GC_gc_no", {0x2000}, 8, false},
                                       {"last_addr.0", {0x3008}, 8, false},
                                       {"GC_threads", {0x4000}, 0x800, false},
                                       {"GC_list", {0x5000}, 8, false}};
  CHECK(range_of_own(symbols) == Range{{0x2000}, 0x2800});
  CHECK(range_of_own(std::vector<Symbol>{{"GC_mine", {0x1000}, 8, false}}).bytes == 0);
  CHECK(range_of_own({}).bytes == 0);
}

}  // namespace heapattach::boehm
