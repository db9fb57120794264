// The graph that perf-tools' DumpHeap writes for Crystal programs: words of eight bytes, the lowest
// first, behind the eight bytes "GCGRPH\1\0".
//
//   for each object     its address, its size, its first word
//                       unless it holds no pointers: for each pointer its offset and where it
//                       leads, then a word of ones
//   at the end          a word of ones
//
// Bit 63 of a size says that the object holds no pointers. The first word's lower half is the type
// id of an object that has one. A snapshot keeps of the first word no more than that: its upper
// half is 0 here (and with it the length of a String, without which a long one is not recognised
// when the dump is read), and so is all of it for an object without an id. Likewise a pointer into
// the middle of an object becomes one to its beginning. Roots, threads and names have no place in
// it.

#include "report/export/formats.h"
#include "report/export/root_groups.h"
#include "report/export/stream.h"

namespace heapattach {

Result<void> write_gcgrph(const snapshot::Snapshot& snapshot,
                          Sink& sink,
                          const ExportOptions& options) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
  ExportStream out(sink, options);
  out.put(std::string_view("GCGRPH\x01\x00", 8));
  for (std::size_t i = 0; i < snapshot.objects.size() && !out.has_failed(); ++i) {
    const snapshot::Object& object = snapshot.objects[i];
    if (!is_counted(snapshot, object)) continue;
    const bool is_atomic = object.object_kind() == snapshot::ObjectKind::Atomic;
    const snapshot::Type& type = snapshot.types[object.type];
    const bool says_id = type.typed_by == snapshot::TypedBy::Header;
    out.put_word(object.address);
    out.put_word(snapshot.bytes_of(object) | (is_atomic ? kAtomic : 0));
    out.put_word(says_id ? type.id.value_or(0) : 0);
    if (i % 65536 == 0) out.progress(i);
    if (is_atomic) continue;
    if (!snapshot.first_edge.empty()) {
      for (auto e = snapshot.first_edge[i]; e < snapshot.first_edge[i + 1]; ++e) {
        out.put_word(std::uint64_t{snapshot.edges[e].offset_words} * 8);
        out.put_word(snapshot.objects[snapshot.edges[e].to].address);
      }
    }
    out.put_word(kEnd);
  }
  out.put_word(kEnd);
  return out.finish();
}

}  // namespace heapattach
