#include <algorithm>
#include <utility>

#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

// The account of heap number `number`.
std::optional<snapshot::HeapAccount> account_of(const Snapshot& snapshot, std::size_t number) {
  const snapshot::Heap& from = snapshot.heaps[number];
  if (!from.heap_bytes || !from.free_bytes) return std::nullopt;
  snapshot::HeapAccount heap;
  heap.kind = &from.kind();
  snapshot.for_each_alike([&](const snapshot::Object& object, std::uint64_t count) {
    if (object.heap != number) return;
    (object.is_reachable != 0 ? heap.live : heap.unreachable) += count * snapshot.bytes_of(object);
  });
  heap.heap = *from.heap_bytes;
  heap.facts = from.facts;
  heap.remark = from.remark;
  const std::uint64_t free = std::min(*from.free_bytes, heap.heap);
  heap.unmapped = std::min(from.unmapped_bytes.value_or(0), free);
  heap.free = free - heap.unmapped;
  // A heap read without a freeze may contradict itself: the difference is at least 0.
  const std::uint64_t in_use = heap.heap - free;
  const std::uint64_t rest = in_use - std::min(in_use, heap.live + heap.unreachable);
  heap.fragmented_known = !snapshot.header.live_only;
  (heap.fragmented_known ? heap.fragmented : heap.unreachable) += rest;
  return heap;
}

SummaryReport report_of(const TakenSummary& taken) {
  SummaryReport report;
  const snapshot::Header& header = taken.snapshot.header;
  report.pid = header.pid;
  report.exe = header.exe;
  report.captured = header.captured;
  const auto& heaps = taken.snapshot.heaps;
  for (std::size_t i = 0; i < heaps.size(); ++i) {
    report.summary.heaps.push_back(account_of(taken.snapshot, i));
  }
  if (taken.memory && heaps.size() == 1) report.tip = heaps.front().kind().tip;
  if (taken.memory) report.summary.memory = account_for(*taken.memory);
  report.no_memory = heaps.empty() ? heap_kind().no_memory : heaps.front().kind().no_memory;
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
