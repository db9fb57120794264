// Short strings with the same text, thousands of times. It costs memory, and is no fault, so it is
// a remark, from a mebibyte and a tenth of the live bytes. The text itself is not shown.

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

void find_repeated(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastWasted = 1U << 20U;
  constexpr std::uint64_t kLeastCopies = 1000;
  if (!evidence.repeated) return;
  const RepeatedSeen& repeated = *evidence.repeated;
  const std::uint64_t wasted = repeated.all_wasted_bytes;
  if (repeated.copies < kLeastCopies || wasted < kLeastWasted) return;
  if (wasted < repeated.live_bytes / 10) return;
  found.push_back(
      {.kind = "repeated",
       .severity = Severity::Remark,
       .sentence = fmt::format("repeated strings: {} of the {} of live objects are copies of the "
                               "same texts",
                               human_bytes(wasted), human_bytes(repeated.live_bytes)),
       .evidence = {fmt::format("{} {} have one text of {}, and waste {}", repeated.copies,
                                repeated.type, counted(repeated.text_bytes, "byte"),
                                human_bytes(repeated.wasted_bytes))},
       .next = "strings " + evidence.source});
}

}  // namespace heapattach::diagnose
