// The graph that perf-tools' DumpHeap writes for Crystal programs, and the embedded routine of any:
// words of eight bytes, the lowest first, behind the eight bytes "GCGRPH\1\0".
//
//   for each object     its address, its size, its first word
//                       unless it holds no pointers: for each word that leads into an object of the
//                       file its offset and the word, then a word of ones
//   at the end          a word of ones
//
// Bit 63 of a size says that the object holds no pointers. Objects come as the collector goes
// through them, so that the file is the one that the routine writes. Of what the collector keeps
// without being asked to (uncollectable objects) it is not known here which hold pointers.
//
// The first word's lower half is the type id of an object that has one. Its upper half, and all of
// it in an object without an id, are contents like any others: they are 0 unless values were asked
// for, but for Strings, whose upper half is their length. Roots, threads and names have no place in
// it.

#include "report/export/collector_order.h"
#include "report/export/formats.h"
#include "report/export/object_bytes.h"
#include "report/export/stream.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;

// How much of a first word may be told.
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
  ExportStream out(sink, options);
  out.put(std::string_view("GCGRPH\x01\x00", 8));
  std::uint64_t done = 0;
  in_collector_order(snapshot, [&](snapshot::ObjectIndex index) {
    const snapshot::Object& object = snapshot.objects[index];
    if (++done % 65536 == 0) out.progress(done);
    if (!is_counted(snapshot, object)) return !out.has_failed();
    const bool is_atomic = object.object_kind() == snapshot::ObjectKind::Atomic;
    out.put_word(object.address);
    out.put_word(snapshot.bytes_of(object) | (is_atomic ? kAtomic : 0));
    out.put_word(bytes.word(object, 0) & told_of_first_word(snapshot.types[object.type], options));
    if (is_atomic) return !out.has_failed();
    for (std::uint64_t at = 0; at + 8 <= snapshot.bytes_of(object); at += 8) {
      const std::uint64_t word = bytes.word(object, at);
      if (!places.hold(word)) continue;
      out.put_word(at);
      out.put_word(word);
    }
    out.put_word(kEnd);
    return !out.has_failed();
  });
  out.put_word(kEnd);
  return out.finish();
}

}  // namespace heapattach
