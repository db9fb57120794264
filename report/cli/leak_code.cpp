#include "report/cli/leak_code.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/cli/code_of_samples.h"
#include "report/trace/places.h"

namespace heapattach {

namespace {

using analyze::LeakedObject;
using snapshot::Snapshot;
using trace::Event;

// The samples of one row.
struct RowCode {
  CodeSites of_roots;
  CodeSites of_others;
};

class CodeFinder {
 public:
  CodeFinder(const trace::Trace& trace, const Snapshot& snapshot, const trace::FrameChoice& frames)
      : trace_(trace), snapshot_(snapshot), places_(trace, frames) {}

  std::vector<LeakCode> run(const analyze::Leaks& found) {
    std::map<std::pair<snapshot::TypeIndex, bool>, RowCode> rows;
    const SamplesInUse in_use(trace_);
    for (const LeakedObject& leaked : found.members) {
      const Event* const sample = in_use.of(snapshot_, snapshot_.objects[leaked.object]);
      if (sample == nullptr) continue;
      const bool is_root = leaked.object == leaked.root;
      RowCode& row = rows[{snapshot_.objects[leaked.root].type, leaked.is_cycle}];
      (is_root ? row.of_roots : row.of_others).add(*sample, trace_.header.every, places_);
    }
    std::vector<LeakCode> code;
    for (const analyze::LeakRow& row : found.rows) {
      const RowCode& its = rows[{row.type, row.is_cycle}];
      const bool is_of_roots = !its.of_roots.empty();
      code.push_back({.is_of_roots = is_of_roots,
                      .sites = is_of_roots ? its.of_roots.sorted(row.leaks)
                                           : its.of_others.sorted(row.objects)});
    }
    return code;
  }

 private:
  const trace::Trace& trace_;
  const Snapshot& snapshot_;
  trace::Places places_;
};

}  // namespace

void keep_leaked(trace::Trace& trace,
                 const Snapshot& snapshot,
                 const std::vector<LeakedObject>& leaked) {
  const SamplesInUse in_use(trace);
  std::map<snapshot::TypeIndex, std::uint32_t> types;
  trace.types.clear();
  std::vector<Event> kept;
  for (const LeakedObject& one : leaked) {
    const snapshot::Object& object = snapshot.objects[one.object];
    const Event* const sample = in_use.of(snapshot, object);
    if (sample == nullptr) continue;
    const auto [type, is_new] =
        types.try_emplace(object.type, static_cast<std::uint32_t>(trace.types.size()));
    if (is_new) trace.types.push_back({.name = snapshot.types[object.type].name});
    kept.push_back(*sample);
    kept.back().type = type->second;
  }
  std::ranges::sort(kept, {}, &Event::time_ns);
  trace.events = {};
  for (const Event& event : kept) trace.events.add(event);
}

std::vector<LeakCode> code_of_leaks(const trace::Trace& trace,
                                    const Snapshot& snapshot,
                                    const analyze::Leaks& found,
                                    const trace::FrameChoice& frames) {
  return CodeFinder(trace, snapshot, frames).run(found);
}

}  // namespace heapattach
