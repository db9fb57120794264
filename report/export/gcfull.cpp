// All bytes of a heap, as perf-tools' DumpHeap and the embedded routine write them: words of eight
// bytes, the lowest first, behind the eight bytes "GCFULL\1\0"; for each object its address, its
// size (bit 63: it holds no pointers) and its bytes; a word of ones at the end. Objects come as the
// collector goes through them. It is a snapshot without names, roots and threads, and with every
// secret that the heap has.

#include "report/export/collector_order.h"
#include "report/export/formats.h"
#include "report/export/object_bytes.h"
#include "report/export/stream.h"

namespace heapattach {

Result<void> write_gcfull(const snapshot::Snapshot& snapshot,
                          Sink& sink,
                          const ExportOptions& options) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
  ObjectBytes bytes(snapshot);
  ExportStream out(sink, options);
  out.put(std::string_view("GCFULL\x01\x00", 8));
  std::uint64_t done = 0;
  in_collector_order(snapshot, [&](snapshot::ObjectIndex index) {
    const snapshot::Object& object = snapshot.objects[index];
    if (++done % 65536 == 0) out.progress(done);
    if (!is_counted(snapshot, object)) return !out.has_failed();
    const bool is_atomic = object.object_kind() == snapshot::ObjectKind::Atomic;
    out.put_word(object.address);
    out.put_word(snapshot.bytes_of(object) | (is_atomic ? kAtomic : 0));
    bytes.for_each_part(object, [&](std::string_view part) { out.put(part); });
    return !out.has_failed();
  });
  out.put_word(kEnd);
  return out.finish();
}

}  // namespace heapattach
