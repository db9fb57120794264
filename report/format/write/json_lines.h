#pragma once

#include <cstdint>
#include <functional>

#include "report/deadline.h"
#include "report/format/write/sink.h"
#include "report/model/model.h"

// The snapshot as JSON Lines, version 1: UTF-8, one object per line, no line depending on an array
// around it, so that a reader can stop, skip or split anywhere. In this order:
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
// - Addresses are strings of lower-case hex: 64 bits do not fit a JavaScript number.
// - Empty keys are left out. The version changes only if a key's meaning does.
// - The keys of `refs` are the paths of the words if the type has them ("@point.@next", "[3].key"),
//   otherwise "+<offset>". No key occurs twice: of two words with one path the second keeps its
//   offset, and so does a path that begins with "+".
// - Several types may have one name, such as the buffers of one hash; one of them has a record.
// - A type's `holder` is the type that such buffers are part of.
// - json_waits.h has what threads and fibers wait for, and what was found wrong with them.
// - json_frames.h describes `frames`; a root's `frame` counts them from 0. Where its `variable` is
//   not of the function that has the frame, `inlined` says to which of the frame's `inlined` it
//   belongs.
//   "below_stack_pointer":true marks a word of a thread's stack that only the innermost function
//   could still use. A word in which an inner frame keeps a register of an outer one has the outer
//   one's number.
// - Only if asked for, `value` is what text or a number an object is, `values` what its fields
// hold,
//   by path; "cut":true says that a text was longer.
// - An unreachable object has "reachable":false, and is left out if live_only is true.
// - "marked_conservatively":{"objects":N,"bytes":N} in the first record: so many objects were
// scanned
//   whole, because the program marks them by a procedure of its own or their mark descriptor could
//   not be read. They may hold objects that the collector does not keep.
// - "redacted":"full" in the first record means that names are placeholders.
// - A record in which a name was cut or was not UTF-8 has "lossy":true.
// - A file without its end record, or with "complete":false there, is partial; `reason` says why.
//
// The rest is for speed. Workers format objects in pieces of a few thousand, each into one buffer
// of fixed size that is made once, and write them in order (OrderedOutput). Text that all objects
// of a type share is escaped beforehand. If a buffer fills up within a piece, it waits for its turn
// and is written in parts, so an array of a billion elements needs no more memory than any other
// object. Rejected: formatting everything in memory (the text is three times the heap), one writer
// fed by a queue (one more copy, and a thread that mostly waits), fmt in the inner loop (a third of
// the speed).
namespace heapattach {

struct JsonLinesOptions {
  bool with_gzip = false;
  Deadline deadline;
  // Called now and then, from one thread at a time, with the number of objects written. May be
  // empty.
  std::function<void(std::uint64_t objects)> on_progress;
};

struct JsonLinesWritten {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // of the objects, not of the text
  // False if the deadline passed first: the text then ends early, and its end record has the
  // reason.
  bool in_time = true;
};

// Writes the whole `snapshot`; does not finish the sink.
Result<JsonLinesWritten> write_json_lines(const snapshot::Snapshot& snapshot,
                                          Sink& sink,
                                          const JsonLinesOptions& options);

}  // namespace heapattach
