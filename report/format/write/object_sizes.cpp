// The sizes of an object, for people or as one JSON object on one line:
//
// {"version":1,"pid":4711,"address":"0x7f12a0","type":"Session","bytes":48,
// "transitive_bytes":N,"retained_bytes":N}

#include <utility>

#include <fmt/format.h>

#include "report/format/write/json_record.h"
#include "report/format/write/root_path_text.h"
#include "report/format/write/text_reports.h"

namespace heapattach {

std::string format_object_sizes_text(const snapshot::Snapshot& snapshot,
                                     const analyze::ObjectSizes& sizes) {
  std::string text = object_text(snapshot, sizes.object) + "\n";
  text += fmt::format("  {} bytes of its own\n", sizes.bytes);
  text += fmt::format("  {} bytes with everything that it references\n", sizes.transitive_bytes);
  text += sizes.retained_bytes == 0 ? "  no root reaches it\n"
                                    : fmt::format("  {} bytes retained\n", sizes.retained_bytes);
  return text;
}

std::string format_object_sizes_json(const snapshot::Snapshot& snapshot,
                                     const analyze::ObjectSizes& sizes) {
  const snapshot::Object& object = snapshot.objects[sizes.object];
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", snapshot.header.pid);
  record.address("address", object.address);
  record.text("type", snapshot.types[object.type].name);
  record.number("bytes", sizes.bytes);
  record.number("transitive_bytes", sizes.transitive_bytes);
  record.number("retained_bytes", sizes.retained_bytes);
  return std::move(record).line();
}

}  // namespace heapattach
