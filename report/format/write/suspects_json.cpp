// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"live_bytes":N,"threshold":N,"small":true,"untyped_bytes":N,
//    "suspects":[{"sentence":"one Cache keeps …","kind":"object","address":"0x7f1300",
//                 "type":"(buffer of Hash(String, Session))","objects":1,"retained_bytes":N,
//                 "named":{"address":"0x7f1240","type":"Hash(String, Session)","retained_bytes":N},
//                 "gathers":{"type":"Session","objects":20375,"retained_bytes":N},
//                 "contents":[{"type":"Session","objects":20375,"bytes":N}],
//                 "summary":"global CACHE → @h","root":{…},"path":[…],
//                 "also":[{"objects":N,"summary":"global RECENT → @buffer → [*]"}]}]}
//
// `kind` is `object`, `list` or `tree` (the address is of the first link, `objects` the number of
// links) or `type` (the address is of one of the `objects`). `named` is the object that the
// sentence names, if that is the container of the one at the address; the contents are then what
// the container retains. Root and path are as in --why. Objects of unknown types, but no suspect,
// retain `untyped_bytes`. A heap of less than 1 MiB is `small`: then a large share of it is nothing
// unusual. A suspect that another one retains has "within", the number of that one in the list (the
// first is 0), and "part", its part of that one.
//
// After --trace, "growth":{"apart_ms":N,"new_bytes":N,"holders":[…],"trace":{…}} has what came and
// stayed between two looks at the heap: holders as in growth_json.cpp, each with
// "allocated_by":[{"samples":23, "objects":990,"bytes":95040,"frames":["open_session
// (shop.c:12)",…]}], the code that allocated the new objects that it retains, most objects first,
// innermost frame first. Objects and bytes are estimated. The recording is as in leaks_json.cpp,
// with the samples that are in what grew.

#include <string_view>
#include <utility>

#include "report/format/write/json_record.h"
#include "report/format/write/root_path_text.h"
#include "report/format/write/suspect_formats.h"

namespace heapattach {

namespace {

std::string_view kind_of(const analyze::Suspect& suspect) {
  if (suspect.is_type) return "type";
  if (suspect.objects == 1) return "object";
  return suspect.is_tree ? "tree" : "list";
}

JsonRecord record_of(const snapshot::Snapshot& snapshot,
                     const analyze::Suspect& suspect,
                     analyze::EdgeNames& names) {
  const snapshot::Object& object = snapshot.objects[suspect.object];
  JsonRecord record;
  record.text("sentence", suspect.sentence);
  record.number("within", suspect.within);
  record.text_unless_empty("part", suspect.part);
  record.text("kind", kind_of(suspect));
  record.address("address", object.address);
  record.text("type", snapshot.types[object.type].name);
  record.number("objects", suspect.objects);
  record.number("retained_bytes", suspect.retained_bytes);
  if (suspect.named != suspect.object) {
    const snapshot::Object& named = snapshot.objects[suspect.named];
    JsonRecord item;
    item.address("address", named.address);
    item.text("type", snapshot.types[named.type].name);
    item.number("retained_bytes", suspect.named_retains);
    record.object("named", std::move(item));
  }
  if (suspect.gathered) {
    JsonRecord gathered;
    gathered.text("type", snapshot.types[suspect.gathered->type].name);
    gathered.number("objects", suspect.gathered->objects);
    gathered.number("retained_bytes", suspect.gathered->bytes);
    record.object("gathers", std::move(gathered));
  }
  record.open_list("contents");
  for (const analyze::Content& content : suspect.contents) {
    JsonRecord item;
    item.text("type", snapshot.types[content.type].name);
    item.number("objects", content.objects);
    item.number("bytes", content.bytes);
    record.item(std::move(item));
  }
  record.close_list();
  record.text("summary", suspect.root_path_summary);
  add_root_path(snapshot, suspect.root, suspect.root_path, names, record);
  if (!suspect.also.empty()) add_other_paths("also", suspect.also, record);
  return record;
}

JsonRecord growth_record(const SuspectGrowth& found, analyze::EdgeNames& names) {
  const analyze::GrowthHolders& holders = found.growth.holders;
  JsonRecord record;
  record.number("apart_ms", static_cast<std::uint64_t>(found.apart.count()));
  record.number("new_bytes", holders.new_bytes);
  record.open_list("holders");
  for (std::size_t i = 0; i < holders.found.size(); ++i) {
    JsonRecord item = holder_record(found.growth, holders.found[i], names);
    item.open_list("allocated_by");
    for (JsonRecord& site : site_records(found.code[i], SiteParts::ObjectsAndBytes)) {
      item.item(std::move(site));
    }
    item.close_list();
    record.item(std::move(item));
  }
  record.close_list();
  record.object("trace", record_of(found.recording));
  return record;
}

}  // namespace

std::string format_suspects_json(const snapshot::Snapshot& snapshot, const SuspectReport& report) {
  const analyze::Suspects& suspects = report.found;
  analyze::EdgeNames names(snapshot);
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", snapshot.header.pid);
  record.number("live_bytes", suspects.live_bytes);
  record.number("threshold", suspects.threshold);
  if (suspects.is_small()) record.boolean("small", true);
  if (suspects.untyped_bytes != 0) record.number("untyped_bytes", suspects.untyped_bytes);
  if (!snapshot.complete) {
    record.boolean("complete", false);
    record.text("reason", snapshot.reason);
  }
  record.open_list("suspects");
  for (const analyze::Suspect& suspect : suspects.found) {
    record.item(record_of(snapshot, suspect, names));
  }
  record.close_list();
  if (report.growth) record.object("growth", growth_record(*report.growth, names));
  return std::move(record).line();
}

}  // namespace heapattach
