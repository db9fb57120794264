#include "report/trace/final_mark.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "report/trace/live_samples.h"
#include "report/trace/trace_words.h"

namespace heapattach::trace {

namespace {

// The addresses of the samples whose end was not recorded.
std::vector<std::uint64_t> in_use(const Trace& trace) {
  LiveSamples live;
  EventLog::Reader reader(trace.events);
  for (Event event; reader.next(event);) {
    if (event.kind == EventKind::Realloc) live.remove(event.old_address);
    const bool ends = event.kind == EventKind::Free || event.kind == EventKind::Dead;
    if (ends) live.remove(event.address);
    if (!ends) live.put(event.address, {});
  }
  std::vector<std::uint64_t> sorted = live.addresses();
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

std::size_t end_unmarked(Trace& trace, const snapshot::Snapshot& heap) {
  if (!heap.complete) return 0;
  std::erase(trace.header.warnings, kNoCollection);
  std::vector<std::uint64_t> alive;
  for (const snapshot::Object& object : heap.objects) {
    if (object.is_reachable != 0) alive.push_back(object.address);
  }
  std::ranges::sort(alive);
  std::size_t ended = 0;
  for (const std::uint64_t address : in_use(trace)) {
    if (std::ranges::binary_search(alive, address)) continue;
    trace.events.add({.kind = EventKind::Dead,
                      .time_ns = trace.header.duration_ns,
                      .address = address,
                      .collection = 0});
    ++ended;
  }
  return ended;
}

}  // namespace heapattach::trace
