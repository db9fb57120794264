#include <utility>

#include "report/cli/errors.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/collect/heap_account.h"
#include "report/exit_status.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

std::string_view why_no_memory(const snapshot::Snapshot& snapshot) {
  if (snapshot.header.source == "core") return "memory by use is not available for a core file";
  return snapshot.heaps.empty() ? heap_kind().no_memory : snapshot.heaps.front().kind().no_memory;
}

SummaryReport report_of(const TakenSummary& taken) {
  SummaryReport report;
  const snapshot::Header& header = taken.snapshot.header;
  report.pid = header.pid;
  report.exe = header.exe;
  report.resource = header.resource;
  report.captured = header.captured;
  const auto& heaps = taken.snapshot.heaps;
  report.summary.heaps = heap_accounts(taken.snapshot);
  if (taken.memory && heaps.size() == 1) report.tip = heaps.front().kind().tip;
  if (taken.memory) report.summary.memory = account_for(*taken.memory);
  report.no_memory = why_no_memory(taken.snapshot);
  report.complete = taken.snapshot.complete;
  report.reason = taken.snapshot.reason;
  if (taken.refusal) {
    report.complete = false;
    report.no_heap = taken.refusal->message();
    report.reason = report.no_heap;
  }
  return report;
}

// Whether it is known which memory is the heap's. Ruby's may be in any mapping.
bool is_heap_placed(const SummaryReport& report) {
  const auto& heaps = report.summary.heaps;
  return heaps.empty() || !heaps.front() || heaps.front()->has_totals;
}

}  // namespace

Result<Answer> run_summary(Job& job) {
  auto taken = HA_TRY(job.sources.summary(job.options, job.deadline, job.console));
  SummaryReport report = report_of(taken);
  if (report.summary.memory && (job.options.redact || !is_heap_placed(report))) {
    report.summary.memory->largest.clear();
  }
  if (taken.refusal) {
    Answer answer;
    answer.text = job.options.format->summary(report, style_of(job.options));
    answer.remarks.push_back(error_message(*taken.refusal, Stage::Target));
    answer.status = exit_status_of(taken.refusal->kind, Stage::Target, 0);
    return answer;
  }
  job.taken.push_back(std::move(taken.snapshot));
  return answer_about(job, job.taken.back(),
                      job.options.format->summary(report, style_of(job.options)));
}

}  // namespace heapattach
