// Growth since an earlier snapshot. Caches fill and buffers double, so growth counts from a
// mebibyte and a tenth of what there was.

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

void find_growing(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastGrowth = 1U << 20U;
  constexpr std::uint64_t kLeastShare = 10;  // one in ten
  if (!evidence.growth) return;
  const GrowthSeen& growth = *evidence.growth;
  if (growth.after.bytes < growth.before.bytes) return;
  const std::uint64_t grown = growth.after.bytes - growth.before.bytes;
  if (grown < kLeastGrowth || grown < growth.before.bytes / kLeastShare) return;
  Finding growing{
      .kind = "growing",
      .severity = Severity::Fault,
      .sentence = fmt::format("growing: the live objects have grown from {} to {} since {}",
                              human_bytes(growth.before.bytes), human_bytes(growth.after.bytes),
                              growth.captured.empty() ? growth.baseline : growth.captured),
      .evidence = growth.remarks,
      .next = fmt::format("diff {} {}", growth.baseline, evidence.source)};
  if (!growth.types.empty()) {
    const GrownType& first = growth.types.front();
    growing.sentence +=
        fmt::format(": {} new {}{}", first.objects, first.type,
                    first.path.empty() ? "" : fmt::format(", held by {}", first.path));
  }
  for (const GrownType& type : growth.types) {
    growing.evidence.push_back(
        fmt::format("{} new {} retain {}{}", type.objects, type.type, human_bytes(type.bytes),
                    type.path.empty() ? "" : fmt::format(": {}", type.path)));
  }
  found.push_back(std::move(growing));
}

}  // namespace heapattach::diagnose
