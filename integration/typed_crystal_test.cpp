// A Crystal program says what it holds, object by object and edge by edge, as its compiler laid it
// out, and the snapshot must say the same.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/typed_truth.h"

namespace heapattach {
namespace {

bool is_built(const std::string& name) {
  if (::access(target_path(name).c_str(), X_OK) == 0) return true;
  print_skip("there was no Crystal compiler to build the program");
  return false;
}

}  // namespace

TEST_CASE("each edge of a Crystal program is found") {
  for (const char* name : {"typed_service_default", "typed_service_debug"}) {
    if (!is_built(name)) return;
    CAPTURE(name);
    LiveTarget target(name);
    CHECK(missing_edges(truth_of(target), snapshot_of(target)) == "");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
