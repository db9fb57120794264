// A C program says what it holds, object by object and edge by edge, and the snapshot must say the
// same, whichever compiler wrote its debug information and however.

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/typed_truth.h"

namespace heapattach {

TEST_CASE("each object and edge of a C program is called what the program calls it") {
  for (const std::string& name : typed_programs_of("c")) {
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(difference(truth_of(target), snapshot_of(target)) == "");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
