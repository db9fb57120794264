#include "report/cli/code_of_samples.h"

#include <algorithm>
#include <functional>

#include "report/format/write/sites_formats.h"
#include "report/trace/cells.h"

namespace heapattach {

using trace::Event;
using trace::EventKind;

SamplesInUse::SamplesInUse(const trace::Trace& trace) {
  trace::EventLog::Reader reader(trace.events);
  for (Event event; reader.next(event);) {
    // A block that grew in place is the same allocation, and has its first size in the recording.
    if (event.kind == EventKind::Realloc && event.address == event.old_address) continue;
    if (event.kind == EventKind::Realloc) by_address_.erase(event.old_address);
    const bool ends = event.kind == EventKind::Free || event.kind == EventKind::Dead;
    if (ends) {
      by_address_.erase(event.address);
    } else {
      by_address_[event.address] = event;
    }
  }
}

const Event* SamplesInUse::of(const snapshot::Snapshot& snapshot,
                              const snapshot::Object& object) const {
  const auto found = by_address_.find(object.address);
  // A sample that is larger than the block cannot be of it.
  const bool is_its =
      found != by_address_.end() && found->second.bytes <= snapshot.bytes_of(object);
  return is_its ? &found->second : nullptr;
}

void CodeSites::add(const Event& event, std::uint64_t every, trace::Places& places) {
  const trace::Places::Path path = places.path_of(event.stack);
  auto [site, is_new] = sites_.try_emplace(path);
  if (is_new) {
    for (const trace::Places::Label label : places.labels_of(path)) {
      site->second.frames.push_back(places.text_of(label));
    }
  }
  const double weight = trace::weight_of(event.bytes, every);
  site->second.samples += 1;
  site->second.objects += weight;
  site->second.bytes += weight * static_cast<double>(event.bytes);
}

std::vector<CodeSite> CodeSites::sorted(std::uint64_t most) const {
  std::vector<CodeSite> all;
  double sum = 0;
  for (const auto& [path, site] : sites_) {
    all.push_back(site);
    sum += site.objects;
  }
  std::ranges::stable_sort(all, std::greater<>{}, &CodeSite::objects);
  const double share = sum <= static_cast<double>(most) ? 1 : static_cast<double>(most) / sum;
  for (CodeSite& site : all) {
    site.objects *= share;
    site.bytes *= share;
  }
  return all;
}

CodeRecording facts_of(const trace::Trace& trace, std::uint64_t samples) {
  CodeRecording facts{.every = trace.header.every,
                      .duration_ns = trace.header.duration_ns,
                      .samples = samples,
                      .drops = trace.header.drops,
                      .shortfalls = shortfalls_of(trace.header)};
  const auto& warnings = trace.header.warnings;
  facts.shortfalls.insert(facts.shortfalls.end(), warnings.begin(), warnings.end());
  return facts;
}

}  // namespace heapattach
