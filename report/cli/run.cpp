#include "report/cli/run.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "report/analyze/type_sizes.h"
#include "report/cli/failure.h"
#include "report/cli/judge.h"
#include "report/cli/look.h"
#include "report/cli/output_name.h"
#include "report/cli/summary.h"
#include "report/cli/write_text.h"
#include "report/format/write/count_formats.h"
#include "report/format/write/gzip.h"
#include "report/format/write/json_lines.h"
#include "report/format/write/output_file.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using snapshot::CountTable;
using snapshot::Snapshot;

std::string format_counts(const CountTable& table, const Options& options) {
  switch (options.format) {
    case Format::Tsv: return format_count_tsv(table);
    case Format::Csv: return format_count_csv(table);
    case Format::Json: return format_count_json(table);
    case Format::Markdown: return format_count_markdown(table);
    case Format::Memprof: return format_count_memprof(table);
    case Format::Table:
    case Format::Export:
    case Format::Folded:
    case Format::Mermaid:
    case Format::Dot:
    case Format::Html:
    case Format::JsonLines: break;
  }
  return for_people(options, format_count_table(table, look_of(options)));
}

// Writes the report. False if the deadline cut it short.
Result<bool> write_report(const Options& options,
                          const Gate& gate,
                          const Snapshot& snapshot,
                          const CountTable& counts,
                          Sink& sink,
                          const JsonLinesOptions& how) {
  bool in_time = true;
  if (options.report != Report::Snapshot) {
    const CountTable chosen = choose_rows(counts, gate.rows());
    const std::string text = format_counts(chosen, options);
    HA_TRY(sink.write(options.with_gzip ? GzipMembers().compress(text) : std::string_view(text)));
  } else if (options.exporter != nullptr) {
    const bool with_values = options.value_bytes > 0 || !options.file.empty();
    const ExportOptions export_options{how.with_gzip, with_values, how.deadline, how.on_progress};
    HA_TRY(options.exporter->write(snapshot, sink, export_options));
  } else {
    in_time = HA_TRY(write_json_lines(snapshot, sink, how)).in_time;
  }
  HA_TRY(sink.finish());
  return in_time;
}

class Run {
 public:
  Run(const Options& options, const TakeSnapshot& take, Console& console)
      : options_(options),
        take_(take),
        console_(console),
        deadline_(Deadline::in(options.timeout)) {}

  ExitStatus go() {
    const std::string name = output_name(options_);
    if (name.empty() && options_.with_gzip && ::isatty(STDOUT_FILENO) == 1) {
      console_.error("compressed data is not written to a terminal; name a file with -o");
      return ExitStatus::Usage;
    }
    if (name.empty() && options_.report == Report::Snapshot && ::isatty(STDOUT_FILENO) == 1) {
      console_.error(
          fmt::format("the snapshot of {} is not written to a terminal; try: --count, or "
                      "a new file with -o",
                      options_.file));
      return ExitStatus::Usage;
    }
    auto output = name.empty() ? OpenOutput::standard_output()
                               : OpenOutput::file(name, options_.force, deadline_);
    if (!output) return failed(output.error(), Stage::Output);
    OutputFile sink(std::move(output).value(), deadline_);

    const auto snapshot = take_(options_, deadline_, console_);
    if (!snapshot) return failed(snapshot.error(), Stage::Target);
    if (options_.exporter != nullptr) {
      const auto checked = check_exportable(*options_.exporter, *snapshot);
      if (!checked) return failed(checked.error(), Stage::Target);
    }
    console_.step(fmt::format("counting {} objects", snapshot->objects.size()));
    CountTable counts = count_objects(*snapshot, options_.by);
    console_.step(typed_line(counts));

    if (options_.report == Report::Sizes) {
      console_.step("finding what holds what");
      analyze::add_sizes(*snapshot, options_.by, counts);
    }
    Gate gate(options_, console_);
    gate.add(*snapshot);
    console_.step("writing the report");
    JsonLinesOptions how;
    how.with_gzip = options_.with_gzip;
    how.deadline = deadline_;
    how.on_progress = [&](std::uint64_t objects) {
      console_.progress("objects written", objects, snapshot->objects.size());
    };
    auto in_time = write_report(options_, gate, *snapshot, counts, sink, how);
    if (!in_time && has_reader_gone(options_, in_time.error())) in_time = true;
    if (!in_time) return failed(in_time.error(), Stage::Output);
    if (options_.output.empty() && !name.empty()) console_.say(fmt::format("written to {}", name));
    console_.say(summary_line(counts, *snapshot, Clock::now() - start_));
    return status_of(gate, *snapshot, counts, *in_time);
  }

 private:
  ExitStatus failed(const Error& error, Stage stage) {
    return report_failure(error, stage, deadline_, console_);
  }

  // A report exists. What its reader must know first decides: that it ends early, that a condition
  // held (which a missing part could not undo for the better), that a part is missing.
  ExitStatus status_of(const Gate& gate,
                       const Snapshot& snapshot,
                       const CountTable& counts,
                       bool in_time) {
    if (!in_time) {
      console_.error(
          "the deadline passed while writing; what is written is marked partial; "
          "try: give it longer with --timeout");
      return ExitStatus::Timeout;
    }
    const auto judged = gate.judge([&](const FailIf& condition) {
      return condition.what == FailIf::What::Retained
                 ? retained_by(condition, snapshot, options_.by)
                 : measure(condition, counts);
    });
    if (judged) return *judged;
    return counts.complete ? ExitStatus::Complete : ExitStatus::Partial;
  }

  const Options& options_;
  const TakeSnapshot& take_;
  Console& console_;
  Clock::time_point start_ = Clock::now();
  Deadline deadline_;
};

}  // namespace

ExitStatus run(const Options& options, const TakeSnapshot& take, Console& console) {
  return Run(options, take, console).go();
}

}  // namespace heapattach
