// One file that is open very often. A program opens a file once, or once for each thread; two
// hundred descriptors of one file are usually never closed. Sockets and pipes say nothing: a server
// has as many as it has clients. Near the limit, find_limits.cpp names the file.

#include <fmt/format.h>

#include "report/diagnose/finders.h"

namespace heapattach::diagnose {

void find_open_files(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kMany = 200;
  if (!evidence.facts || !evidence.facts->descriptors) return;
  if (is_near_limit(*evidence.facts->descriptors)) return;
  for (const DescriptorKind& kind : evidence.facts->open) {
    if (kind.count < kMany) return;
    if (!kind.what.starts_with('/')) continue;
    found.push_back(
        {.kind = "descriptors",
         .severity = Severity::Unusual,
         .sentence = fmt::format("descriptors: {} of {} open ones are of one file, {}", kind.count,
                                 evidence.facts->descriptors->used, kind.what),
         .evidence = {},
         .next = "stacks --brief " + evidence.source});
    return;
  }
}

}  // namespace heapattach::diagnose
