#pragma once

#include <cstdint>
#include <functional>

#include "attach/base/deadline.h"
#include "report/format/write/sink.h"
#include "report/trace/trace.h"

// Writes a trace as JSON Lines, version 1: one record per line, as in a snapshot (json_lines.h).
// The records are in this order, so that each one refers only to earlier ones:
//
//   {"record":"trace","version":1,"tool":…,"pid":4711,"host":…,"exe":…,"build_id":…,"every":524288,
//    "started":"2026-…Z","duration_ns":N,"gc_bytes_at_start":N,"gc_bytes_at_end":N,
//    "heaps":["gc"],"entries":["GC_malloc_kind",…],"warnings":[…]}
//   {"record":"type","id":0,"name":"Session"}
//   {"record":"frame","id":0,"function":"Shop#login","object":"shop","file":"shop.cr","line":12,
//    "address":"0x55…","of":"own"}
//   {"record":"stack","id":0,"frames":[0,4,9],"truncated":true}
//   {"record":"thread","id":0,"tid":4711,"name":"shop"}
//   {"record":"fiber","id":0,"address":"0x7f…","name":"worker"}
//   {"record":"alloc","time_ns":N,"thread":0,"fiber":0,"address":"0x7f…","bytes":48,"type":0,
//    "stack":0,"collection":12}
//   {"record":"realloc",… as alloc,… "old_address":"0x7f…"}
//   {"record":"free","time_ns":N,"thread":0,"fiber":0,"address":"0x7f…","collection":13}
//   {"record":"end","complete":true,"allocs":N,"frees":N,"drops":0}
//
// - An allocation of `bytes` bytes is sampled with the probability 1 - exp(-bytes / every); with
//   every 1, all are. So a sample represents 1 / (1 - exp(-bytes / every)) allocations.
// - Times are since `started`. `gc_bytes_…` is the collector's own count of bytes allocated since
//   the program started. `heaps` are those that were traced, "gc" and "malloc"; without it, the
//   collector's. `entries` are the functions that were hooked.
// - Each kind of record numbers its `id`s from 0. A stack's frames are innermost first; "truncated"
//   means that outer frames are missing. `of` is own, library, runtime or collector. Inlined
//   functions are separate frames, at the address of the function that they are inlined into.
// - A fiber is given only where it is certain which one ran. One that lived for a few milliseconds
//   may be missing.
// - An allocation has the number of collections before it. The object of a `free` with "collection"
//   was found unreachable by the collection of that number, or by the mark at the end of the trace
//   if it is 0; without "collection", the program freed the object.
// - A realloc is an allocation at `address`, and frees the one at `old_address`; if the two
//   are equal, nothing was allocated.
// - "drops" is the number of lost samples. Without an end record, or with "complete":false in it,
//   the trace is partial; `reason` says why. `allocs` counts reallocs too.
// - Addresses are lower-case hex strings. Keys without a value are omitted. A record in which a
//   text was cut or was not UTF-8 has "lossy":true. The version changes only if the meaning of a
//   key changes; readers skip unknown records and keys.
//
// Reading a trace and writing it again gives the same bytes.
namespace heapattach {

struct TraceLinesOptions {
  bool with_gzip = false;
  Deadline deadline;
  // Called occasionally with the number of events written. May be empty.
  std::function<void(std::uint64_t events)> on_progress;
};

// Writes the whole `trace`; does not finish the sink. Returns false if the deadline passed first,
// and notes it in the end record.
Result<bool> write_trace_lines(const trace::Trace& trace,
                               Sink& sink,
                               const TraceLinesOptions& options);

}  // namespace heapattach
