// Memory that is swapped out. A little of what is never used always is; it counts from 64 MiB and a
// quarter of the process, because then the program waits for its memory.

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

void find_swapped(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastSwapped = 64U << 20U;
  if (!evidence.facts) return;
  const std::uint64_t swapped = evidence.facts->swapped_bytes;
  const std::uint64_t all = swapped + evidence.facts->resident_bytes;
  if (swapped < kLeastSwapped || swapped < all / 4) return;
  found.push_back({.kind = "swapped",
                   .severity = Severity::Unusual,
                   .sentence = fmt::format("swapped out: {} of the {} of its memory are on disk",
                                           human_bytes(swapped), human_bytes(all)),
                   .evidence = {},
                   .next = next_on_memory(evidence)});
}

}  // namespace heapattach::diagnose
