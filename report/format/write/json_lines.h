#pragma once

#include <cstdint>
#include <functional>

#include "attach/base/deadline.h"
#include "report/format/write/sink.h"
#include "report/model/model.h"

// Writes a snapshot as JSON Lines, version 1: UTF-8, one object per line, and no enclosing array,
// so that a reader can stop, skip or split anywhere. The records, in this order:
//
//   {"record":"snapshot","version":1,"tool":…,"pid":…,"collector":{…},"live_only":true}
//   {"record":"type","name":"Session","id":174,"bytes":40,"known_from":[…],"fields":[…]}
//   {"record":"thread","tid":4711,"name":"app","state":"S","frames":[…]}
//   {"record":"fiber","address":"0x7f…","name":"worker-1","frames":[…]}
//   {"record":"root","kind":"stack","thread":4711,"frame":3,"variable":"session","address":"0x7ffd…",
//    "to":"0x7f…"}
//   {"record":"object","address":"0x7f12a0","type":"Session","bytes":48,"refs":{"+16":"0x7f1300"}}
//   {"record":"end","complete":true,"objects":N,"bytes":N,"roots":N,"skipped":0}
//
// - Addresses are lower-case hex strings, because 64 bits do not fit a JavaScript number.
// - Keys without a value are omitted. The version changes only if the meaning of a key changes.
// - The keys of `refs` are the paths of words if the type has them ("@point.@next", "[3].key"),
//   otherwise "+<offset>". No key occurs twice: of two words with the same path, the second keeps
//   its offset, and so does a path that begins with "+".
// - Several types may share a name, such as the buffers of a hash; only one of them has a record.
// - A type's `short` is its name as people write it (report/short_names.h), if that differs.
// - A type's `guess` is the struct that its objects probably are, of which only the size is known.
// - A type's `holder` is the type to which such buffers belong.
// - A root's `kind` is the key of a row of kRootKinds (root_kinds.h). Kinds that earlier versions
// did
//   not know share the key of another kind and have a `symbol` of their own.
// - json_waits.h describes what threads and fibers wait for, and the findings about them.
// - json_frames.h describes `frames`; a root's `frame` counts them from 0. If its `variable` does
//   not belong to the frame's own function, `inlined` is the index of the function in the frame's
//   `inlined`.
//   "below_stack_pointer":true marks a word of a thread's stack that only the innermost function
//   could still use. A word in which an inner frame saved a register of an outer frame has the
//   outer frame's number.
// - Only on request, `value` is the text or number that an object represents, and `values` has the
//   values of its fields, by path. "cut":true means that a text was longer.
// - An unreachable object has "reachable":false, and is omitted if live_only is true.
// - If the heaps of a collector and of malloc are both in it, "malloc" in the first record has the
//   totals of malloc's heap, as "collector" has those of the collector's, and each object of malloc
//   has "heap":"malloc". Each object is reachable or not by the rules of its own heap: the
//   collector's if the collector finds it, malloc's if any private memory leads to it, objects of
//   the collector included. Garbage of the collector that other memory of the process references
//   keeps objects of malloc in use. If that garbage is not in the file, such an object has a root
//   with the symbol "(garbage of the collector)". In a snapshot of malloc's heap alone, the
//   collector's name is "malloc", or "musl" of musl's. `leaked_bytes` of malloc's heap are those of
//   its allocations that nothing references, which a file with live_only does not list.
// - "marked_conservatively":{"objects":N,"bytes":N} in the first record is the number of
//   objects that were scanned in full, because they have a mark procedure of the program's own or
//   their mark descriptor could not be read. They may retain objects that the collector does not.
// - "redacted":"full" in the first record means that names are placeholders.
// - A record in which a name was cut or was not UTF-8 has "lossy":true.
// - A file without an end record, or with "complete":false in it, is partial; `reason` says why.
//
// The implementation is designed for speed. Workers format objects in pieces of a few thousand,
// each into one fixed-size buffer that is reused, and write them in order (OrderedOutput). Text
// that all objects of a type share is escaped in advance. If a buffer fills up within a piece, the
// worker waits for its turn and writes the piece in parts, so an array of a billion elements needs
// no more memory than any other object. Rejected alternatives: formatting everything in memory (the
// text is three times as large as the heap), one writer fed by a queue (one more copy, and a thread
// that mostly waits), and fmt in the inner loop (a third of the speed).
namespace heapattach {

struct JsonLinesOptions {
  bool with_gzip = false;
  Deadline deadline;
  // Called occasionally, from one thread at a time, with the number of objects written. May be
  // empty.
  std::function<void(std::uint64_t objects)> on_progress;
};

struct JsonLinesWritten {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // of the objects, not of the text
  // False if the deadline passed first; the text then ends early, and its end record has the
  // reason.
  bool in_time = true;
};

// Writes the whole `snapshot`; does not finish the sink.
Result<JsonLinesWritten> write_json_lines(const snapshot::Snapshot& snapshot,
                                          Sink& sink,
                                          const JsonLinesOptions& options);

}  // namespace heapattach
