#include "report/cli/leak_code.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "report/trace/cells.h"
#include "report/trace/places.h"

namespace heapattach {

namespace {

using analyze::LeakedObject;
using snapshot::Snapshot;
using trace::Event;
using trace::EventKind;

using SamplesInUse = std::unordered_map<std::uint64_t, Event>;  // by address

SamplesInUse samples_in_use(const trace::Trace& trace) {
  SamplesInUse in_use;
  trace::EventLog::Reader reader(trace.events);
  for (Event event; reader.next(event);) {
    if (event.kind == EventKind::Alloc) {
      in_use[event.address] = event;
    } else {
      in_use.erase(event.address);
    }
  }
  return in_use;
}

// The samples of one row, by what their stacks look like.
struct RowCode {
  std::map<trace::Places::Path, LeakSite> of_roots;
  std::map<trace::Places::Path, LeakSite> of_others;
};

class CodeFinder {
 public:
  CodeFinder(const trace::Trace& trace, const Snapshot& snapshot, const trace::FrameChoice& frames)
      : trace_(trace), snapshot_(snapshot), places_(trace, frames) {}

  std::vector<LeakCode> run(const analyze::Leaks& found) {
    std::map<std::pair<snapshot::TypeIndex, bool>, RowCode> rows;
    const SamplesInUse in_use = samples_in_use(trace_);
    for (const LeakedObject& leaked : found.members) {
      const auto sample = in_use.find(snapshot_.objects[leaked.object].address);
      if (sample == in_use.end()) continue;
      const bool is_root = leaked.object == leaked.root;
      RowCode& row = rows[{snapshot_.objects[leaked.root].type, leaked.is_cycle}];
      add(sample->second, is_root ? row.of_roots : row.of_others);
    }
    std::vector<LeakCode> code;
    for (const analyze::LeakRow& row : found.rows) {
      RowCode& its = rows[{row.type, row.is_cycle}];
      const bool is_of_roots = !its.of_roots.empty();
      code.push_back({.is_of_roots = is_of_roots,
                      .sites = sorted(is_of_roots ? its.of_roots : its.of_others)});
      limit(code.back(), is_of_roots ? row.leaks : row.objects);
    }
    return code;
  }

 private:
  void add(const Event& event, std::map<trace::Places::Path, LeakSite>& sites) {
    const trace::Places::Path path = places_.path_of(event.stack);
    auto [site, is_new] = sites.try_emplace(path);
    if (is_new) {
      for (const trace::Places::Label label : places_.labels_of(path)) {
        site->second.frames.push_back(places_.text_of(label));
      }
    }
    site->second.samples += 1;
    site->second.objects += trace::weight_of(event.bytes, trace_.header.every);
  }

  static std::vector<LeakSite> sorted(std::map<trace::Places::Path, LeakSite>& sites) {
    std::vector<LeakSite> all;
    for (auto& [path, site] : sites) all.push_back(std::move(site));
    std::ranges::stable_sort(all, std::greater<>{}, &LeakSite::objects);
    return all;
  }

  // There are not more of them than the heap has.
  static void limit(LeakCode& code, std::uint64_t most) {
    double sum = 0;
    for (const LeakSite& site : code.sites) sum += site.objects;
    if (sum <= static_cast<double>(most)) return;
    for (LeakSite& site : code.sites) site.objects *= static_cast<double>(most) / sum;
  }

  const trace::Trace& trace_;
  const Snapshot& snapshot_;
  trace::Places places_;
};

}  // namespace

void keep_leaked(trace::Trace& trace,
                 const Snapshot& snapshot,
                 const std::vector<LeakedObject>& leaked) {
  const SamplesInUse in_use = samples_in_use(trace);
  std::map<snapshot::TypeIndex, std::uint32_t> types;
  trace.types.clear();
  std::vector<Event> kept;
  for (const LeakedObject& one : leaked) {
    const snapshot::Object& object = snapshot.objects[one.object];
    const auto sample = in_use.find(object.address);
    // A sample that is larger than the block cannot be of it.
    if (sample == in_use.end() || sample->second.bytes > snapshot.bytes_of(object)) continue;
    const auto [type, is_new] =
        types.try_emplace(object.type, static_cast<std::uint32_t>(trace.types.size()));
    if (is_new) trace.types.push_back({.name = snapshot.types[object.type].name});
    kept.push_back(sample->second);
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
