// --suspects: where most of the memory is. With --trace, what grows, and which code adds to it.

#include <chrono>
#include <utility>
#include <vector>

#include "attach/base/guardian.h"
#include "report/analyze/difference.h"
#include "report/analyze/suspects.h"
#include "report/cli/code_of_samples.h"
#include "report/cli/growth_text.h"
#include "report/cli/reports.h"
#include "report/cli/take_traced.h"
#include "report/cli/text_style.h"
#include "report/cli/trace_choice.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

// The objects that were allocated during the recording, if they are among its samples.
std::vector<bool> sampled_objects(const Snapshot& heap, const SamplesInUse& in_use) {
  std::vector<bool> sampled(heap.objects.size());
  for (ObjectIndex i = 0; i < heap.objects.size(); ++i) {
    sampled[i] = in_use.of(heap, heap.objects[i]) != nullptr;
  }
  return sampled;
}

GrowthReport compare(const Snapshot& before, const TracedHeap& traced, const SamplesInUse& in_use) {
  const std::vector<const Snapshot*> both = {&before, traced.heap};
  GrowthReport growth;
  growth.sources.resize(both.size());
  growth.origins.is_same_process = true;
  growth.difference = analyze::compare(both, snapshot::CountBy::Type);
  add_holders(both, snapshot::CountBy::Type, growth, sampled_objects(*traced.heap, in_use));
  return growth;
}

// Compares the heap with `before`, and finds the code that allocated the new objects.
SuspectGrowth growth_since(const Snapshot& before,
                           const TracedHeap& traced,
                           const trace::FrameChoice& frames) {
  const SamplesInUse in_use(*traced.trace);
  SuspectGrowth found{
      .apart = {}, .growth = compare(before, traced, in_use), .code = {}, .recording = {}};
  trace::Places places(*traced.trace, frames);
  std::uint64_t samples = 0;
  for (const analyze::GrowthHolder& holder : found.growth.holders.found) {
    CodeSites sites;
    for (const ObjectIndex object : holder.members) {
      const trace::Event* const sample = in_use.of(*traced.heap, traced.heap->objects[object]);
      if (sample == nullptr) continue;
      sites.add(*sample, traced.trace->header.every, places);
      ++samples;
    }
    found.code.push_back(sites.sorted(holder.members.size()));
  }
  found.recording = facts_of(*traced.trace, samples);
  return found;
}

Answer answer_of_suspects(Job& job, const Snapshot& heap, const SuspectReport& report) {
  return answer_about(job, heap, job.options.format->suspects(heap, report, style_of(job.options)));
}

void begin_step(Job& job) {
  job.console.step("following references");
  job.console.progress("following references");
}

// Takes the heap before the recording and at its end.
Result<Answer> suspects_with_growth(Job& job) {
  const Options& options = job.options;
  job.taken.reserve(2);  // the first must not move
  const Snapshot& before = *HA_TRY(job.take(options));
  const auto first_look = std::chrono::steady_clock::now();
  if (lacks_roots(before)) return answer_without_roots(job, before);
  job.deadline = Deadline::in(options.timeout);
  set_guarded_deadline(job.deadline.at);
  const TracedHeap traced = HA_TRY(take_traced(job, options_of_trace(options), options));
  const auto apart = std::chrono::steady_clock::now() - first_look;
  if (lacks_roots(*traced.heap)) return answer_without_roots(job, *traced.heap);
  begin_step(job);
  SuspectReport report{.found = analyze::find_suspects(*traced.heap),
                       .growth = growth_since(before, traced, frames_of(options))};
  report.growth->apart = std::chrono::duration_cast<std::chrono::milliseconds>(apart);
  Answer answer = answer_of_suspects(job, *traced.heap, report);
  if (!before.complete) {
    answer.remarks.push_back("the heap before the recording is only partly known: " +
                             before.reason);
  }
  if (!before.complete || !traced.trace->is_whole()) answer.make_partial();
  return answer;
}

}  // namespace

Result<Answer> run_suspects(Job& job) {
  if (job.options.with_trace.length) return suspects_with_growth(job);
  const Snapshot& heap = *HA_TRY(job.take(job.options));
  if (lacks_roots(heap)) return answer_without_roots(job, heap);
  begin_step(job);
  return answer_of_suspects(job, heap, {.found = analyze::find_suspects(heap)});
}

}  // namespace heapattach
