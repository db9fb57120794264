#include "report/cli/run_explain.h"

#include <chrono>
#include <string>
#include <utility>

#include "report/analyze/neighbourhood.h"
#include "report/analyze/object_sizes.h"
#include "report/analyze/suspects.h"
#include "report/analyze/why.h"
#include "report/cli/failure.h"
#include "report/cli/look.h"
#include "report/cli/summary.h"
#include "report/cli/write_text.h"
#include "report/format/write/graph_formats.h"
#include "report/format/write/object_sizes_formats.h"
#include "report/format/write/suspects_formats.h"
#include "report/format/write/why_formats.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

Result<std::string> why_text(const Options& options, const Snapshot& snapshot) {
  analyze::WhyOptions what;
  what.what = options.explain.what;
  what.paths = options.explain.paths;
  what.exclusions = options.explain.exclusions;
  const analyze::Why why = HA_TRY(analyze::explain_why(snapshot, what));
  return options.format == Format::Json ? format_why_json(snapshot, why)
                                        : format_why_text(snapshot, why, look_of(options));
}

Result<std::string> graph_text(const Options& options, const Snapshot& snapshot) {
  const analyze::NeighbourhoodOptions what{options.explain.what, options.explain.levels,
                                           options.explain.objects};
  const analyze::Neighbourhood found = HA_TRY(analyze::find_neighbourhood(snapshot, what));
  if (options.format == Format::Json) return format_graph_json(snapshot, found);
  return options.format == Format::Dot ? format_graph_dot(snapshot, found)
                                       : format_graph_mermaid(snapshot, found);
}

Result<std::string> report_text(const Options& options, const Snapshot& snapshot) {
  if (options.report == Report::Why) return why_text(options, snapshot);
  if (options.report == Report::Graph) return graph_text(options, snapshot);
  if (options.report == Report::ObjectSizes) {
    const auto sizes = HA_TRY(analyze::find_object_sizes(snapshot, options.explain.what));
    return options.format == Format::Json ? format_object_sizes_json(snapshot, sizes)
                                          : format_object_sizes_text(snapshot, sizes);
  }
  const analyze::Suspects suspects = analyze::find_suspects(snapshot);
  return options.format == Format::Json
             ? format_suspects_json(snapshot, suspects)
             : format_suspects_text(snapshot, suspects, look_of(options));
}

}  // namespace

ExitStatus run_explain(const Options& options, const TakeSnapshot& take, Console& console) {
  const auto start = std::chrono::steady_clock::now();
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  const auto snapshot = take(options, deadline, console);
  if (!snapshot) return report_failure(snapshot.error(), Stage::Target, deadline, console);
  console.step("finding what holds what");
  const auto text = report_text(options, *snapshot);
  if (!text) {
    console.error(text.error().message);
    return ExitStatus::Failed;
  }
  const auto written = write_text(options, deadline, std::move(*output), *text);
  if (!written) return report_failure(written.error(), Stage::Output, deadline, console);
  console.say(
      summary_line(count_objects(*snapshot), *snapshot, std::chrono::steady_clock::now() - start));
  return snapshot->complete ? ExitStatus::Complete : ExitStatus::Partial;
}

}  // namespace heapattach
