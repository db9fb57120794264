// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"objects":[{"address":"0x7f12a0","type":"Session"}],
//    "links":[{"from":"0x7f1300","to":"0x7f12a0","by":"[3]","level":0}],
//    "roots":[{"kind":"global","text":"global CACHE of app","to":"0x7f1200"}],
//    "cut":["990 more objects (--objects)"]}
//
// The requested objects come first, with "asked":true.

#include <utility>

#include "report/analyze/edge_names.h"
#include "report/analyze/roots.h"
#include "report/format/write/json_record.h"
#include "report/format/write/text_reports.h"

namespace heapattach {

std::string format_graph_json(const snapshot::Snapshot& snapshot,
                              const analyze::Neighbourhood& found) {
  analyze::EdgeNames names(snapshot);
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", snapshot.header.pid);
  record.open_list("objects");
  std::size_t number = 0;
  for (const snapshot::ObjectIndex object : shown_objects(found)) {
    JsonRecord item;
    item.address("address", snapshot.objects[object].address);
    item.text("type", snapshot.types[snapshot.objects[object].type].name);
    if (number++ < found.objects.size()) item.boolean("asked", true);
    record.item(std::move(item));
  }
  record.close_list();
  record.open_list("links");
  for (const auto& link : found.links) {
    JsonRecord item;
    item.address("from", snapshot.objects[link.from].address);
    item.address("to", snapshot.objects[link.to].address);
    item.text("by", names.name(link.from, link.word));
    item.number("level", link.level);
    record.item(std::move(item));
  }
  record.close_list();
  record.open_list("roots");
  for (const auto& holder : found.roots) {
    const snapshot::Root& root = snapshot.roots[holder.root];
    JsonRecord item;
    item.text("kind", snapshot::root_kind(root.kind).key);
    item.text("text", analyze::root_in_words(snapshot, root));
    item.address("to", snapshot.objects[holder.to].address);
    record.item(std::move(item));
  }
  record.close_list();
  record.list("cut", cut_lines(found));
  return std::move(record).line();
}

}  // namespace heapattach
