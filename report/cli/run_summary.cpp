#include <algorithm>
#include <utility>

#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

// The account of one of the heaps.
std::optional<snapshot::HeapAccount> heap_of(const Snapshot& snapshot,
                                             const std::optional<snapshot::Collector>& collector) {
  if (!collector || !collector->heap_bytes || !collector->free_bytes) return std::nullopt;
  snapshot::HeapAccount heap;
  const bool is_beside = snapshot.header.malloc && collector->is_malloc();
  snapshot.for_each_alike([&](const snapshot::Object& object, std::uint64_t count) {
    if ((object.of_malloc != 0) != is_beside) return;
    (object.is_reachable != 0 ? heap.live : heap.unreachable) += count * snapshot.bytes_of(object);
  });
  heap.heap = *collector->heap_bytes;
  heap.malloc = collector->malloc;
  const std::uint64_t free = std::min(*collector->free_bytes, heap.heap);
  heap.unmapped = std::min(collector->unmapped_bytes.value_or(0), free);
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
  report.summary.heap = heap_of(taken.snapshot, header.collector);
  report.summary.malloc_heap = heap_of(taken.snapshot, header.malloc);
  // A program with a collector uses malloc, too: its libraries do.
  const bool is_of_collector = header.collector && !header.collector->is_malloc();
  if (taken.memory && is_of_collector && !header.malloc && header.runtime != "ruby") {
    report.tip = "what is in malloc's heap: --heap both (of glibc's malloc)";
  }
  if (taken.memory) report.summary.memory = account_for(*taken.memory);
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
