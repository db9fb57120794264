// A hundred threads or more, most of them in one function of the program. A large pool looks like
// that, and so does a program that starts a thread for each request and never ends it. Only a
// second look tells them apart, so this is a remark; from five hundred it is unusual, because
// hardly any pool is that large.

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

void find_many_threads(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::size_t kMany = 100;
  constexpr std::size_t kVeryMany = 500;
  if (!evidence.stacks || evidence.stacks->threads.size() < kMany) return;
  std::map<std::string_view, std::size_t> functions;
  for (const stacks::ThreadSeen& thread : evidence.stacks->threads) {
    const bool is_explained = thread.is_busy || thread.gone_owner != 0 || thread.finding;
    if (!is_explained && !thread.function.empty()) ++functions[thread.function];
  }
  const auto most =
      std::max_element(functions.begin(), functions.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::size_t all = evidence.stacks->threads.size();
  if (most == functions.end() || most->second < all / 4 * 3) return;
  found.push_back({.kind = "threads",
                   .severity = most->second >= kVeryMany ? Severity::Unusual : Severity::Remark,
                   .sentence = fmt::format("many threads: {} of {} are in {}", most->second,
                                           counted(all, "thread"), most->first),
                   .evidence = {},
                   .next = "stacks --brief " + evidence.source});
}

}  // namespace heapattach::diagnose
