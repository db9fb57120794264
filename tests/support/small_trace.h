#pragma once

#include "report/trace/trace.h"

namespace heapattach {

// A trace of a small shop, 4 seconds long, every allocation:
//
//   place                             type       allocations  in use
//   Shop#login (shop.cr:12)           Session    2, 96 bytes  1, 48 bytes
//   Shop#login (shop.cr:15)           String     1, 32 bytes  none: freed
//   only the runtime, worker's        (unknown)  1, 100 bytes none: moved
//   Shop#login (shop.cr:12), cut off  (unknown)  1, 200 bytes 1, 200 bytes
inline trace::Trace small_trace() {
  using trace::EventKind;
  using trace::Whose;
  trace::Trace trace;
  trace.header.pid = 4711;
  trace.header.exe = "/usr/bin/shop";
  trace.header.build_id = "c0de";
  trace.header.started = "2026-01-02T03:04:05.678Z";
  trace.header.duration_ns = 4'000'000'000;
  trace.header.gc_bytes_at_start = 1000;
  trace.header.gc_bytes_at_end = 1500;
  trace.header.entries = {"GC_malloc_kind", "GC_realloc"};
  trace.types = {{"Session"}, {"String"}};
  trace.frames = {
      {"GC_malloc_kind", "libgc.so.1", "", 0, 0x7f00, Whose::Collector},
      {"GC::malloc", "shop", "gc.cr", 3, 0x500, Whose::Runtime},
      {"Shop#login", "shop", "shop.cr", 12, 0x512, Whose::Own},
      {"Shop#login", "shop", "shop.cr", 15, 0x515, Whose::Own},
      {"Shop#serve", "shop", "shop.cr", 40, 0x540, Whose::Own},
      {"main", "shop", "main.cr", 1, 0x501, Whose::Runtime},
  };
  trace.stacks = {{{0, 1, 2, 4, 5}}, {{0, 1, 3, 4, 5}}, {{0, 1}}, {{0, 2}, true}};
  trace.threads = {{4711, "shop"}, {4712, "worker"}};
  trace.fibers = {{0x7f1000, "main"}};
  for (const trace::Event& event : {
           trace::Event{EventKind::Alloc, 1'000, 0, 0, 0x1000, 0, 48, 0, 0, 2},
           trace::Event{EventKind::Alloc, 2'000, 0, 0, 0x2000, 0, 32, 1, 1, 2},
           trace::Event{EventKind::Alloc, 3'000, 1, trace::kNone, 0x3000, 0, 100, trace::kNone, 2,
                        2},
           trace::Event{EventKind::Free, 4'000, 0, 0, 0x2000},
           trace::Event{EventKind::Alloc, 5'000, 0, 0, 0x1030, 0, 48, 0, 0, 2},
           trace::Event{
               .kind = EventKind::Dead, .time_ns = 6'000, .address = 0x1000, .collection = 3},
           trace::Event{EventKind::Realloc, 7'000, 1, trace::kNone, 0x4000, 0x3000, 200,
                        trace::kNone, 3, 3},
           trace::Event{EventKind::Realloc, 8'000, 1, trace::kNone, 0x4000, 0x4000, 150,
                        trace::kNone, 3, 3},
           trace::Event{EventKind::Free, 9'000, 0, 0, 0x9990},
       }) {
    trace.events.add(event);
  }
  return trace;
}

}  // namespace heapattach
