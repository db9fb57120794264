// The graph that perf-tools' DumpHeap writes for Crystal programs, and the embedded routine for
// any: words of eight bytes, lowest byte first, after the eight bytes "GCGRPH\1\0".
//
//   for each object     its address, its size, its first word
//                       unless it holds no pointers: for each word that points into an object of
//                       the file its offset and the word, then a word of ones
//   at the end          a word of ones
//
// Bit 63 of a size means that the object holds no pointers. Objects come in the collector's order,
// so the file equals the one that the routine writes. For uncollectable objects, it is unknown here
// which hold pointers.
//
// The lower half of the first word is the type id of an object that has one. Its upper half, and
// all of it in an object without an id, are contents like any others: they are 0 unless values were
// requested, except for Strings, whose upper half is their length. The format has no roots, threads
// and names.

#include "report/format/export/collector_order.h"
#include "report/format/export/dump.h"
#include "report/format/export/object_bytes.h"
#include "report/format/export/stream.h"

namespace heapattach {

namespace {

// A mask of the bits of an object's first word that may be written.
std::uint64_t told_of_first_word(const snapshot::Type& type, const ExportOptions& options) {
  if (options.with_values) return ~std::uint64_t{0};
  if (type.typed_by != snapshot::TypedBy::Header) return 0;
  return type.name == "String" ? ~std::uint64_t{0} : 0xffffffff;
}

}  // namespace

Result<void> write_gcgrph(const snapshot::Snapshot& snapshot,
                          Sink& sink,
                          const ExportOptions& options) {
  const CountedPlaces places(snapshot);
  ObjectBytes bytes(snapshot);
  const auto put_rest = [&](const snapshot::Object& object, ExportStream& out) {
    out.put_word(bytes.word(object, 0) & told_of_first_word(snapshot.types[object.type], options));
    if (object.object_kind() == snapshot::ObjectKind::Atomic) return;
    for (std::uint64_t at = 0; at + 8 <= snapshot.bytes_of(object); at += 8) {
      const std::uint64_t word = bytes.word(object, at);
      if (!places.hold(word)) continue;
      out.put_word(at);
      out.put_word(word);
    }
    out.put_word(kDumpEnd);
  };
  return write_dump("GCGRPH", snapshot, sink, options, put_rest);
}

}  // namespace heapattach
