#pragma once

#include <string_view>

#include "report/format/export/collector_order.h"
#include "report/format/export/stream.h"
#include "report/model/model.h"

namespace heapattach {

// The marker after the last object of a dump, and after the pointers of each object in a GCGRPH
// dump.
inline constexpr std::uint64_t kDumpEnd = ~std::uint64_t{0};

// Writes a dump in the format of the collector's own tools: a six-letter name and version 1; then,
// for each counted object, its address, its size (bit 63 is set if it holds no pointers), and the
// output of `put_rest(object, out)`.
template <class PutRest>
Result<void> write_dump(std::string_view name,
                        const snapshot::Snapshot& snapshot,
                        Sink& sink,
                        const ExportOptions& options,
                        const PutRest& put_rest) {
  constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
  ExportStream out(sink, options);
  out.put(name);
  out.put(std::string_view("\x01\x00", 2));
  std::uint64_t done = 0;
  in_collector_order(snapshot, [&](snapshot::ObjectIndex index) {
    const snapshot::Object& object = snapshot.objects[index];
    if (++done % 65536 == 0) out.progress(done);
    if (!is_counted(snapshot, object)) return !out.has_failed();
    const bool is_atomic = object.object_kind() == snapshot::ObjectKind::Atomic;
    out.put_word(object.address);
    out.put_word(snapshot.bytes_of(object) | (is_atomic ? kAtomic : 0));
    put_rest(object, out);
    return !out.has_failed();
  });
  out.put_word(kDumpEnd);
  return out.finish();
}

}  // namespace heapattach
