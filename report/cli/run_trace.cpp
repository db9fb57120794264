#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "attach/base/guardian.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/cli/trace_choice.h"
#include "report/cli/waiting.h"
#include "report/format/export/formats.h"
#include "report/format/write/sites_formats.h"
#include "report/text/human_bytes.h"
#include "report/trace/final_mark.h"
#include "report/trace/trace_words.h"

namespace heapattach {

namespace {

using SharedTrace = std::shared_ptr<const trace::Trace>;

// Adds names that were asked for and do not exist, such as types, to be shown after the report.
void add_problems(std::vector<std::string> problems, Answer& answer) {
  if (problems.empty()) return;
  answer.status = ExitStatus::Usage;
  for (std::string& problem : problems) answer.remarks.push_back(std::move(problem));
}

// An estimate in words. Samples cannot show less than the bytes that one of them stands for.
std::string estimated(double bytes, const trace::SiteTable& table) {
  if (!table.is_estimate()) return human_bytes(rounded(bytes));
  if (rounded(bytes) == 0) return "less than about " + human_bytes(table.header.every);
  return "about " + human_bytes(rounded(bytes));
}

std::string summary_of(const trace::SiteTable& table) {
  const double seconds = static_cast<double>(table.header.duration_ns) / 1e9;
  return fmt::format(
      "{} in {:.1f} s: {} allocated, {} of them in use; {} lost",
      counted(table.total.samples, "sample"), seconds, estimated(table.total.bytes, table),
      estimated(table.total.in_use_bytes, table), counted(table.header.drops, "sample"));
}

Answer answer_with_table(const Job& job, const trace::Trace& trace) {
  std::vector<std::string> problems;
  trace::SiteTable table =
      trace::make_site_table(trace, choice_of(job.options, trace, problems), job.deadline);
  table.value = job.options.trace.value.value_or(table.value);
  Answer answer;
  if (table.is_cut) {
    answer.status = ExitStatus::Timeout;
    if (job.options.format->read_by != ReadBy::People) {
      answer.remarks.push_back(fmt::format("partial: {}", trace::kTableCut));
    }
  }
  answer.text = job.options.format->sites(table, style_of(job.options));
  answer.summary = [line = summary_of(table)] { return line; };
  add_problems(std::move(problems), answer);
  return answer;
}

Answer answer_with_lines(const Job& job, const SharedTrace& trace) {
  Answer answer;
  answer.write = [&job, trace](Sink& sink) {
    TraceLinesOptions how;
    how.with_gzip = job.options.with_gzip;
    how.deadline = job.deadline;
    how.on_progress = [&job](std::uint64_t events) {
      job.console.progress("writing the trace", events);
    };
    return job.options.format->trace_lines(*trace, sink, how);
  };
  return answer;
}

Answer answer_with_export(const Job& job, const SharedTrace& trace) {
  TraceExportOptions how;
  how.stream.with_gzip = job.options.with_gzip;
  how.stream.deadline = job.deadline;
  how.frames = frames_of(job.options);
  std::vector<std::string> problems;
  how.types = types_meant(job.options, *trace, problems);
  how.value = job.options.trace.value.value_or(how.value);
  Answer answer;
  add_problems(std::move(problems), answer);
  answer.write = [&job, trace, how](Sink& sink) -> Result<bool> {
    HA_TRY(job.options.format->trace(*trace, sink, how));
    return true;
  };
  return answer;
}

// A page about a trace, and about the process's heap where `heap` is not null.
Answer answer_with_page(const Job& job, const SharedTrace& trace, const snapshot::Snapshot* heap) {
  std::vector<std::string> problems;
  const trace::SiteChoice choice = choice_of(job.options, *trace, problems);
  ExportOptions how;
  how.with_gzip = job.options.with_gzip;
  how.deadline = job.deadline;
  Answer answer;
  add_problems(std::move(problems), answer);
  answer.write = [&job, trace, choice, how, heap](Sink& sink) -> Result<bool> {
    HA_TRY(job.options.format->trace_page(*trace, heap, choice, sink, how));
    return true;
  };
  return answer;
}

// Takes the heap at the end of the trace, and ends the samples that it does not find alive.
Result<const snapshot::Snapshot*> mark_at_end(Job& job, trace::Trace& trace) {
  // Keeps half of the remaining time for writing the report.
  const Deadline whole = job.deadline;
  job.deadline.at -= (whole.at - std::chrono::steady_clock::now()) / 2;
  const auto taken = job.take(job.options);
  job.deadline = whole;
  const auto* const heap = HA_TRY(taken);
  // Unreachable memory of malloc has leaked: it stays in use.
  if (trace::is_of_malloc(trace.header)) return heap;
  const std::size_t ended = trace::end_unmarked(trace, *heap);
  job.console.step(
      fmt::format("{} of the trace are unreachable in the heap", counted(ended, "sample")));
  return heap;
}

// Whether the process can be expected to have a heap after the trace.
bool has_heap_at_end(const Job& job, const trace::Trace& trace) {
  return job.options.trace.command.empty() && trace.header.complete;
}

// Writes a page that includes the heap at the end of the trace, if the process still has one.
Answer answer_with_heap(Job& job, const std::shared_ptr<trace::Trace>& trace) {
  const auto heap = mark_at_end(job, *trace);
  Answer answer = answer_with_page(job, trace, heap ? *heap : nullptr);
  if (!heap) {
    answer.make_partial();
    answer.remarks.push_back("the page has no heap: " + heap.error().message());
  } else if (!(*heap)->complete) {
    answer.make_partial();
    answer.remarks.push_back("the heap is only partly known: " + (*heap)->reason);
  }
  return answer;
}

// For the formats without a heap: what is in use is known a little less exactly if this fails.
void mark_for_trace(Job& job, trace::Trace& trace) {
  if (!job.options.trace.with_final_mark || trace::is_of_malloc(trace.header)) return;
  const auto heap = mark_at_end(job, trace);
  if (heap && (*heap)->complete) return;
  const std::string why = heap ? (*heap)->reason : heap.error().message();
  trace.header.warnings.push_back(
      "objects that became unreachable after the last collection count as in use: the heap could "
      "not be "
      "marked at the end: " +
      why);
}

Answer answer_of(Job& job, const std::shared_ptr<trace::Trace>& trace, bool is_live) {
  const bool has_heap = is_live && has_heap_at_end(job, *trace);
  const Format& format = *job.options.format;
  if (format.trace_page != nullptr) {
    return has_heap ? answer_with_heap(job, trace) : answer_with_page(job, trace, nullptr);
  }
  if (has_heap) mark_for_trace(job, *trace);
  if (format.trace_lines != nullptr) return answer_with_lines(job, trace);
  return format.sites ? answer_with_table(job, *trace) : answer_with_export(job, trace);
}

}  // namespace

Result<Answer> run_trace(Job& job) {
  const bool is_live = job.options.file.empty();
  const auto trace = std::make_shared<trace::Trace>(
      HA_TRY(job.sources.trace(job.options, job.deadline, job.console, {})));
  job.left_in = trace->header.left_in;
  const bool has_begun = job.left_in.empty() || !trace->header.started.empty();
  if (!has_begun) return Error{ErrorKind::Impossible, trace->header.reason};
  if (is_live) {
    // --timeout bounds the work, not the recording that was asked for.
    if (job.deadline.at != std::chrono::steady_clock::time_point::max()) {
      job.deadline.at += std::chrono::nanoseconds(trace->header.duration_ns);
      set_guarded_deadline(job.deadline.at);
    }
    job.deadline = without_interrupt(job.deadline);
  }
  job.console.step(fmt::format("{} in {}", counted(trace->events.size(), "event"),
                               human_bytes(trace->events.memory_bytes())));
  Answer answer = answer_of(job, trace, is_live);
  if (trace->is_whole()) return answer;
  answer.make_partial();
  const bool is_late = is_live && trace->header.reason.starts_with(trace::kDeadlinePassed);
  if (is_late) answer.status = ExitStatus::Timeout;
  if (job.options.format->read_by == ReadBy::People) return answer;
  for (std::string& shortfall : shortfalls_of(trace->header)) {
    answer.remarks.push_back(std::move(shortfall));
  }
  return answer;
}

}  // namespace heapattach
