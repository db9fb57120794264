// --why, --graph and --sizes ADDRESS: what keeps objects alive. --find: which they are.

#include <string>

#include "report/analyze/find_matches.h"
#include "report/analyze/neighbourhood.h"
#include "report/analyze/object_sizes.h"
#include "report/analyze/why.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

Result<std::string> why_text(const Options& options, const Snapshot& snapshot) {
  analyze::WhyOptions what;
  what.what = options.explain.what;
  what.paths = options.explain.paths;
  what.exclusions = options.explain.exclusions;
  what.from = options.explain.from;
  const analyze::Why why = HA_TRY(analyze::explain_why(snapshot, what));
  return options.format->why(snapshot, why, style_of(options));
}

Result<std::string> find_text(const Options& options, const Snapshot& snapshot) {
  const auto matches = HA_TRY(analyze::find_matches(snapshot, options.explain.find));
  const std::size_t usual = options.format->read_by == ReadBy::People ? 100 : 0;
  return options.format->found(snapshot, matches, options.rows.top.value_or(usual),
                               style_of(options));
}

Result<std::string> graph_text(const Options& options, const Snapshot& snapshot) {
  const analyze::NeighbourhoodOptions what{options.explain.what, options.explain.levels,
                                           options.explain.objects};
  const analyze::Neighbourhood found = HA_TRY(analyze::find_neighbourhood(snapshot, what));
  return options.format->graph(snapshot, found, {});
}

Result<std::string> sizes_text(const Options& options, const Snapshot& snapshot) {
  const auto sizes = HA_TRY(analyze::find_object_sizes(snapshot, options.explain.what));
  return options.format->object_sizes(snapshot, sizes, {});
}

using MakeText = Result<std::string> (*)(const Options&, const Snapshot&);

Result<Answer> explain(Job& job, MakeText text, bool needs_roots) {
  const Snapshot& snapshot = *HA_TRY(job.take(job.options));
  if (needs_roots && lacks_roots(snapshot)) return answer_without_roots(job, snapshot);
  job.console.step("following references");
  job.console.progress("following references");
  return answer_about(job, snapshot, HA_TRY(text(job.options, snapshot)));
}

}  // namespace

Result<Answer> run_why(Job& job) {
  return explain(job, why_text, true);
}

Result<Answer> run_find(Job& job) {
  return explain(job, find_text, false);
}

Result<Answer> run_graph(Job& job) {
  return explain(job, graph_text, false);
}

Result<Answer> run_object_sizes(Job& job) {
  return explain(job, sizes_text, true);
}

}  // namespace heapattach
