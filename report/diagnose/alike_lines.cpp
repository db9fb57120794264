#include "report/diagnose/alike_lines.h"

#include <algorithm>

#include <fmt/format.h>

namespace heapattach::diagnose {

void AlikeLines::add(const stacks::ThreadSeen& thread) {
  add(thread, fmt::format("{}{}{}{}", thread.function.empty() ? "" : " in ", thread.function,
                          thread.wait.call.empty() ? "" : ": ", thread.wait.call));
}

void AlikeLines::add(const stacks::ThreadSeen& thread, const std::string& words) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Alike& one) { return one.words == words; });
  if (found != all_.end()) {
    ++found->threads;
  } else {
    all_.push_back({words, title_of(thread), 1});
  }
}

std::vector<std::string> AlikeLines::lines() const {
  constexpr std::size_t kShown = 4;
  std::vector<Alike> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Alike& a, const Alike& b) { return a.threads > b.threads; });
  std::vector<std::string> lines;
  std::size_t left = 0;
  for (const Alike& one : sorted) {
    if (lines.size() == kShown) {
      left += one.threads;
    } else {
      lines.push_back((one.threads == 1 ? one.title : fmt::format("{} threads", one.threads)) +
                      one.words);
    }
  }
  if (left > 0) lines.push_back(fmt::format("… {} more", left));
  return lines;
}

}  // namespace heapattach::diagnose
