// All bytes of a heap, as perf-tools' DumpHeap and the embedded routine write them: words of eight
// bytes, lowest byte first, after the eight bytes "GCFULL\1\0". For each object: its address, its
// size (bit 63: it holds no pointers) and its bytes; at the end a word of ones. Objects come in the
// collector's order. It is a snapshot without names, roots and threads, and with every secret in
// the heap.

#include "report/format/export/dump.h"
#include "report/format/export/object_bytes.h"
#include "report/format/export/stream.h"

namespace heapattach {

Result<void> write_gcfull(const snapshot::Snapshot& snapshot,
                          Sink& sink,
                          const ExportOptions& options) {
  ObjectBytes bytes(snapshot);
  const auto put_rest = [&](const snapshot::Object& object, ExportStream& out) {
    bytes.for_each_part(object, [&](std::string_view part) { out.put(part); });
  };
  return write_dump("GCFULL", snapshot, sink, options, put_rest);
}

}  // namespace heapattach
