// A test of another package's program accepts a refusal only of a release that was not tried.

#include "integration/other_releases.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("the release of a program is the number that it prints, and is tried or not") {
  const std::vector<std::string> tried{"3.1.7", "2.2"};
  CHECK(release_in("Ruby", "ruby 3.1.7p261 (2025-03-26)", tried).is_tried);
  CHECK(release_in("Ruby", "ruby 3.1.7p261 (2025-03-26)", tried).number == "3.1.7");
  CHECK_FALSE(release_in("Ruby", "ruby 3.1.70 (2029-01-01)", tried).is_tried);
  CHECK_FALSE(release_in("Ruby", "ruby 3.1.8", tried).is_tried);
  CHECK(release_in("guile", "guile (GNU Guile) 2.2.", tried).is_tried);
  CHECK(release_in("guile", "guile (GNU Guile) 2.2.7", tried).is_tried);
  CHECK_FALSE(release_in("guile", "guile (GNU Guile) 2.20", tried).is_tried);
  CHECK(release_in("w3m", "no number of 1 kind", tried).number.empty());
  CHECK(release_of("echo", {"echo", "go version go1.19.8 linux"}, {"1.19"}).is_tried);
}

TEST_CASE("only a release that was not tried may be refused, by its number, with status 5 or 7") {
  const Release tried{"Ruby", "3.1.7", true};
  const Release other{"Ruby", "3.1.9", false};
  const ToolRun refusal{5, "", "heapattach: cannot read this Ruby release's heap (3.1.9): why"};
  CHECK(may_refuse(other, refusal));
  CHECK(may_refuse(other, {7, "", refusal.errors}));
  CHECK_FALSE(may_refuse(tried, {5, "", "cannot read this Ruby release's heap (3.1.7): why"}));
  for (const int status : {0, 1, 6, -11}) {
    CHECK_FALSE(may_refuse(other, {status, "", refusal.errors}));
  }
  CHECK_FALSE(may_refuse(other, {5, "", "cannot read the heap"}));
  CHECK_FALSE(may_refuse(other, {5, "", "cannot read this Ruby release's heap (3.1.90): why"}));
  CHECK_FALSE(may_refuse({"Ruby", "", false}, refusal));
}

}  // namespace heapattach
