#include "report/format/write/summary_formats.h"

#include <doctest/doctest.h>

#include "symbols/malloc/source.h"

using namespace heapattach;

namespace {

snapshot::HeapAccount collectors() {
  snapshot::HeapAccount heap;
  heap.live = 480;
  heap.unreachable = 48;
  heap.fragmented = 72;
  heap.free = 300;
  heap.unmapped = 100;
  heap.heap = 1000;
  return heap;
}

snapshot::HeapAccount mallocs() {
  snapshot::HeapAccount heap;
  heap.kind = &glibc::kHeapKind;
  heap.live = 64;
  heap.unreachable = 32;
  heap.fragmented = 24;
  heap.free = 80;
  heap.heap = 200;
  heap.facts = {{"arenas", {}, 1}, {"bin_bytes", "free, in bins", 80}};
  heap.remark = "1 arena";
  return heap;
}

SummaryReport report_of(std::vector<std::optional<snapshot::HeapAccount>> heaps) {
  SummaryReport report;
  report.pid = 7;
  report.exe = "/srv/app";
  report.captured = "2026-11-20T11:34:07.215Z";
  report.summary.heaps = std::move(heaps);
  report.no_memory = "there is none";
  return report;
}

const std::string kHead =
    "process 7, /srv/app, 2026-11-20T11:34:07.215Z\n"
    "\n"
    "note: there is none\n"
    "\n";
const std::string kCollectors =
    "bytes  of the collector's heap\n"
    "  480  live objects\n"
    "   48  unreachable objects: the next collection frees them\n"
    "   72  fragmented: free slots and ends of blocks in use\n"
    "  300  free blocks\n"
    "  100  free blocks returned to the system (unmapped)\n"
    " 1000  heap\n";
const std::string kMallocs =
    "bytes  of malloc's heap\n"
    "   64  reachable\n"
    "   32  leaked: nothing reachable references it\n"
    "   24  malloc's own headers and tables\n"
    "   80  free, in bins\n"
    "  200  heap\n"
    "1 arena\n";

}  // namespace

TEST_CASE("each heap has a table of its own, in words of its own") {
  CHECK(format_summary_table(report_of({collectors()}), {}) == kHead + kCollectors);
  CHECK(format_summary_table(report_of({mallocs()}), {}) == kHead + kMallocs);
  CHECK(format_summary_table(report_of({collectors(), mallocs()}), {}) ==
        kHead + kCollectors + '\n' + kMallocs);
}

TEST_CASE("a heap read from a saved snapshot has one line for its free bytes") {
  snapshot::HeapAccount heap = mallocs();
  heap.facts.clear();
  heap.remark.clear();
  const std::string text = format_summary_table(report_of({heap}), {});
  CHECK(text.starts_with(kHead + "bytes  of malloc's heap\n"));
  CHECK(text.ends_with("malloc's own headers and tables\n   80  free\n  200  heap\n"));
}

TEST_CASE("parts that are not told apart share a line") {
  snapshot::HeapAccount heap = collectors();
  heap.fragmented_known = false;
  const std::string text = format_summary_table(report_of({heap}), {});
  CHECK(text.find("   48  not reachable, or unused in blocks in use\n  300  free blocks\n") !=
        std::string::npos);
  CHECK(format_summary_json(report_of({heap})).find("fragmented_bytes") == std::string::npos);
}

TEST_CASE("a heap whose numbers are unknown is left out, and said to be if it is the first") {
  const std::string note = "note: the collector's numbers are unknown\n";
  CHECK(format_summary_table(report_of({}), {}) == kHead + note);
  CHECK(format_summary_table(report_of({std::nullopt}), {}) == kHead + note);
  CHECK(format_summary_table(report_of({std::nullopt, mallocs()}), {}) ==
        kHead + note + '\n' + kMallocs);
  CHECK(format_summary_table(report_of({collectors(), std::nullopt}), {}) == kHead + kCollectors);
}

TEST_CASE("the first heap is `heap` in JSON, another is named by its kind") {
  CHECK(format_summary_json(report_of({collectors(), mallocs()})) ==
        R"({"version":1,"report":"summary","pid":7,"exe":"/srv/app",)"
        R"("captured":"2026-11-20T11:34:07.215Z",)"
        R"("heap":{"live_bytes":480,"unreachable_bytes":48,"fragmented_bytes":72,)"
        R"("free_bytes":300,"unmapped_bytes":100,"heap_bytes":1000},)"
        R"("malloc_heap":{"live_bytes":64,"unreachable_bytes":32,"leaked_bytes":32,)"
        R"("overhead_bytes":24,)"
        R"("arenas":1,"bin_bytes":80,"free_bytes":80,"unmapped_bytes":0,"heap_bytes":200}})"
        "\n");
}

TEST_CASE("memory outside the heap is named, with the runtime whose objects are there") {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  static constexpr heap::ObjectAllocator kOther{.name = "Other",
                                                .file = {},
                                                .symbol = {},
                                                .where = "Other keeps its objects elsewhere",
                                                .instead = "its own profiler"};
  SummaryReport report = report_of({});
  report.no_heap = "the process does not use glibc's malloc";
  report.complete = false;
  report.reason = report.no_heap;
  snapshot::MemoryAccount memory;
  memory.total = {100 * kMib, 200 * kMib};
  memory.largest = {{"/srv/data", {80 * kMib, 90 * kMib}}, {"[vdso]", {2 * kMib, 2 * kMib}}};
  memory.objects_of = &kOther;
  report.summary.memory = memory;
  CHECK(format_summary_table(report, {})
            .ends_with("resident    mapped  largest mappings\n"
                       "83886080  94371840  /srv/data\n"
                       "note: Other keeps its objects elsewhere; try: its own profiler\n"
                       "\n"
                       "note: the heap was not read: the process does not use glibc's malloc\n"));
  const std::string json = format_summary_json(report);
  CHECK(json.find(R"("largest_outside":[{"name":"/srv/data","resident_bytes":83886080,)") !=
        std::string::npos);
  CHECK(json.find(R"("objects_of":"Other")") != std::string::npos);
}

TEST_CASE("of a heap without totals, only its objects are shown") {
  snapshot::HeapAccount heap;
  heap.live = 480;
  heap.has_totals = false;
  CHECK(format_summary_table(report_of({heap}), {}) ==
        kHead + "bytes  of the collector's heap\n  480  live objects\n");
  CHECK(format_summary_json(report_of({heap}))
            .find(R"("heap":{"live_bytes":480,"unreachable_bytes":0}})") != std::string::npos);
}
