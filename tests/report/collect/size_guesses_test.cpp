#include "report/collect/size_guesses.h"

#include <doctest/doctest.h>

namespace heapattach::snapshot {

TEST_CASE("the size of an allocation is that of glibc's malloc") {
  CHECK(usable_size_for(1) == 24);
  CHECK(usable_size_for(24) == 24);
  CHECK(usable_size_for(25) == 40);
  CHECK(usable_size_for(40) == 40);
  CHECK(usable_size_for(104) == 104);
  CHECK(usable_size_for(504) == 504);
  CHECK(usable_size_for(505) == 520);
}

}  // namespace heapattach::snapshot
