#include "report/trace/final_mark.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "report/trace/trace_words.h"

namespace heapattach::trace {

namespace {

// The addresses of the samples that nothing has ended.
std::vector<std::uint64_t> in_use(const Trace& trace) {
  std::unordered_set<std::uint64_t> live;
  EventLog::Reader reader(trace.events);
  for (Event event; reader.next(event);) {
    if (event.kind == EventKind::Realloc) live.erase(event.old_address);
    const bool ends = event.kind == EventKind::Free || event.kind == EventKind::Dead;
    if (ends) live.erase(event.address);
    if (!ends) live.insert(event.address);
  }
  std::vector<std::uint64_t> sorted(live.begin(), live.end());
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

std::size_t end_unmarked(Trace& trace, const snapshot::Snapshot& heap) {
  if (!heap.complete) return 0;
  std::erase(trace.header.warnings, kNoCollection);
  std::unordered_set<std::uint64_t> alive;
  for (const snapshot::Object& object : heap.objects) {
    if (object.is_reachable != 0) alive.insert(object.address);
  }
  std::size_t ended = 0;
  for (const std::uint64_t address : in_use(trace)) {
    if (alive.contains(address)) continue;
    trace.events.add({.kind = EventKind::Dead,
                      .time_ns = trace.header.duration_ns,
                      .address = address,
                      .collection = 0});
    ++ended;
  }
  return ended;
}

}  // namespace heapattach::trace
