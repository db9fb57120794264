// A holder keeps half of the live objects or more. A cache looks like that, and so does a leak in a
// program with a collector. Only a second look tells them apart, so this is a remark.

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

void find_holder(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastLive = 1U << 20U;
  if (!evidence.holder) return;
  const HolderSeen& holder = *evidence.holder;
  if (holder.live_bytes < kLeastLive || holder.retained_bytes < holder.live_bytes / 2) return;
  found.push_back(
      {.kind = "holder",
       .severity = Severity::Remark,
       .sentence = fmt::format("most of the heap: {}{}", holder.sentence,
                               holder.path.empty() ? "" : "; held by " + holder.path),
       .evidence = holder.contents,
       .next = evidence.is_live ? "watch 10s " + evidence.source : "suspects " + evidence.source});
}

}  // namespace heapattach::diagnose
