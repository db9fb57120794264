// Allocations of malloc that the program can no longer reach. Most programs lose a few at their
// start and never again, so a few prove nothing: a leak that repeats has a hundred roots of one
// type, and 16 KiB in all; a single one matters if it has a mebibyte. It is a fault of a process; a
// file does not have all that could reference the allocations.

#include <algorithm>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"
#include "report/type_names.h"

namespace heapattach::diagnose {

namespace {

constexpr std::uint64_t kRepeated = 100;
constexpr std::uint64_t kLeastBytes = 16U << 10U;
constexpr std::uint64_t kLarge = 1U << 20U;
constexpr std::size_t kShownLeaks = 3;

bool is_certain(const LeakSeen& leak) {
  return leak.bytes >= kLarge || (leak.leaks >= kRepeated && leak.bytes >= kLeastBytes);
}

// "3759 objects of 48 bytes", "120 Circle".
std::string things(std::uint64_t count, const std::string& type) {
  const std::string_view size = size_in_name(type);
  return size.empty() ? fmt::format("{} {}", count, type)
                      : fmt::format("{} of {}", counted(count, "object"), size);
}

std::string line_of(const LeakSeen& leak) {
  const std::uint64_t others = leak.objects - leak.leaks;
  return fmt::format(
      "{}{}{}{}: {}, for instance {:#x}", things(leak.leaks, leak.type),
      leak.guess.empty() ? "" : fmt::format(" (a guess: {})", leak.guess),
      leak.is_cycle ? " in cycles" : "",
      others == 0 ? std::string()
                  : fmt::format(", with {} that only they reference", counted(others, "object")),
      human_bytes(leak.bytes), leak.example);
}

}  // namespace

void find_leaking(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.leaks) return;
  const LeaksSeen& leaks = *evidence.leaks;
  const auto worst = std::find_if(leaks.rows.begin(), leaks.rows.end(), is_certain);
  if (worst == leaks.rows.end()) return;
  Finding leaking{
      .kind = "leaking",
      .severity = evidence.is_live ? Severity::Fault : Severity::Unusual,
      .sentence = fmt::format("leaking: {}, {}, to which no reference was found",
                              things(worst->leaks, worst->type), human_bytes(worst->bytes)),
      .evidence = {},
      .next = fmt::format("leaks{}{} {}", evidence.heaps.size() > 1 ? " --heap both" : "",
                          evidence.is_live ? " --confirm 2s" : "", evidence.source)};
  if (leaks.objects > worst->leaks) {
    leaking.evidence.push_back(fmt::format("leaked in all: {}, {}, in {}",
                                           counted(leaks.objects, "object"),
                                           human_bytes(leaks.bytes), counted(leaks.leaks, "leak")));
  }
  for (std::size_t i = 0; i < std::min(leaks.rows.size(), kShownLeaks); ++i) {
    leaking.evidence.push_back(line_of(leaks.rows[i]));
  }
  if (!evidence.is_live) {
    leaking.evidence.emplace_back(
        "references that the kernel has (epoll), or that are in shared memory, may not be in the "
        "file");
  }
  leaking.evidence.emplace_back(
      "references that the program keeps in another form, such as XORed or shifted, are not found");
  found.push_back(std::move(leaking));
}

}  // namespace heapattach::diagnose
