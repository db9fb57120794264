// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"type":"Session","objects":1000,"bytes":48000,"retained_bytes":96000,
//    "unreached":0,"other_paths":0,"other_objects":0,"excluded":0,
//    "paths":[{"objects":998,"bytes":47904,"retained_bytes":95000,"summary":"…",
//              "root":{"kind":"global","text":"global CACHE of app","symbol":"CACHE",…},
//              "path":[{"address":"0x7f1200","type":"Cache"},
//                      {"by":"@h","address":"0x7f1240","type":"Hash(String, Session)"},…],
//              "also":[{"objects":900,"summary":"…"}],
//              "dominators":[{"address":"0x7f1240","type":"…","retained_bytes":97000}]}]}
//
// For a single object there are its "address" and "type", and a path has no "summary". Dominators
// come outermost first. "from" is the name of the roots, if not all were asked for; "unreached" are
// then the objects that these do not reach; "unused_exclusions" are those of --exclude that no
// pointer matches. "complete":false and a "reason" if the snapshot is
// partial.

#include <utility>

#include "report/format/write/json_record.h"
#include "report/format/write/root_path_text.h"
#include "report/format/write/text_reports.h"

namespace heapattach {

std::string format_why_json(const snapshot::Snapshot& snapshot, const analyze::Why& why) {
  analyze::EdgeNames names(snapshot);
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", snapshot.header.pid);
  if (why.object) {
    const snapshot::Object& object = snapshot.objects[*why.object];
    record.address("address", object.address);
    record.text("type", snapshot.types[object.type].name);
  } else {
    record.text("type", why.what);
  }
  record.number("objects", why.objects);
  record.number("bytes", why.bytes);
  record.number("retained_bytes", why.retained_bytes);
  record.text_unless_empty("from", why.from);
  record.number("unreached", why.unreached);
  record.number("other_paths", why.other_paths);
  record.number("other_objects", why.other_objects);
  record.number("excluded", why.excluded_edges);
  record.list_unless_empty("unused_exclusions", why.unused_exclusions);
  if (!snapshot.complete) {
    record.boolean("complete", false);
    record.text("reason", snapshot.reason);
  }
  record.open_list("paths");
  for (const analyze::WhyPath& path : why.paths) {
    JsonRecord item;
    item.number("objects", path.objects);
    item.number("bytes", path.bytes);
    item.number("retained_bytes", path.retained_bytes);
    item.text_unless_empty("summary", path.summary);
    add_root_path(snapshot, path.root, path.root_path, names, item);
    if (!path.also.empty()) add_other_paths("also", path.also, item);
    add_dominators(snapshot, path.dominators, item);
    record.item(std::move(item));
  }
  record.close_list();
  return std::move(record).line();
}

}  // namespace heapattach
