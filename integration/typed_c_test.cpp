// A C program lists its objects and edges, and the snapshot must have the same ones, whichever
// compiler wrote the debug information, in whatever form.

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/typed_truth.h"

namespace heapattach {

TEST_CASE("each object and edge of a C program has the program's own name for it") {
  for (const std::string& name : typed_programs_of("c")) {
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(difference(truth_of(target), snapshot_of(target)) == "");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
