#include <utility>

#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/collect/heap_account.h"
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
  report.captured = header.captured;
  const auto& heaps = taken.snapshot.heaps;
  report.summary.heaps = heap_accounts(taken.snapshot);
  if (taken.memory && heaps.size() == 1) report.tip = heaps.front().kind().tip;
  if (taken.memory) report.summary.memory = account_for(*taken.memory);
  report.no_memory = why_no_memory(taken.snapshot);
  report.complete = taken.snapshot.complete;
  report.reason = taken.snapshot.reason;
  return report;
}

}  // namespace

Result<Answer> run_summary(Job& job) {
  auto taken = HA_TRY(job.sources.summary(job.options, job.deadline, job.console));
  const SummaryReport report = report_of(taken);
  job.taken.push_back(std::move(taken.snapshot));
  return answer_about(job, job.taken.back(),
                      job.options.format->summary(report, style_of(job.options)));
}

}  // namespace heapattach
