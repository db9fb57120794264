// A C program says what it holds, object by object and edge by edge, and the snapshot must say the
// same, whichever compiler wrote its debug information and however.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/typed_truth.h"

namespace heapattach {
TEST_CASE("each edge of a C program is found") {
  for (const char* variant : kTypedVariants) {
    const std::string name = fmt::format("typed_c_{}", variant);
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(missing_edges(truth_of(target), snapshot_of(target)) == "");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("each object and edge of a C program is called what the program calls it") {
  for (const char* variant :
       {"gcc5", "gcc4", "clang5", "clang4", "gcc5_stripped", "split", "clang_split"}) {
    const std::string name = fmt::format("typed_c_{}", variant);
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(difference(truth_of(target), snapshot_of(target)) == "");
  }
}

}  // namespace heapattach
