// A C++ program lists what it holds, object by object and edge by edge, and the snapshot must have
// the same, whichever compiler wrote its debug information, in whatever form.

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/typed_truth.h"

namespace heapattach {

TEST_CASE("each object and edge of a C++ program has the program's own name for it") {
  for (const std::string& name : typed_programs_of("cxx")) {
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(difference(truth_of(target), snapshot_of(target)) == "");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
