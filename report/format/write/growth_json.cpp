// One JSON object on one line, version 1:
//
//   {"version":1,"report":"diff","snapshots":[{"source":"before.jsonl","pid":4711,"exe":"/srv/app",
//    "captured":"…","objects":N,"bytes":N},…],"same_process":true,"remarks":["…"],
//    "grown_objects":N,"grown_bytes":N,"types":[{"type":"Session","objects_before":100,
//    "bytes_before":4800,"objects_after":1100,"bytes_after":52800,"grown_objects":1000,
//    "grown_bytes":48000,"retained_before":9600,"retained_after":105600,"grown_retained":96000,
//    "stayed_objects":100,"stayed_bytes":4800,"new":true}],
//    "new_bytes":N,"holders":[{"sentence":"…","type":"Session","objects":1000,
//     "retained_bytes":96000,
//     "with":[{"type":"String","objects":1000,"bytes":48000}],"through":998,"summary":"…","root":{…},"path":[…],
//     "other_paths":[{"objects":2,"summary":"…"}]}]}
//
// `holders` are the types whose new objects retain most of `new_bytes`, the bytes of all new
// objects, with the path that holds most of them (`through`), as in why_json.cpp. They and the
// retained bytes are left out if the snapshots do not contain references. `report` is "diff" or
// "watch". Of three snapshots, "kept_objects" and "kept_bytes" are what came after the first, was
// in the second and is still in the last; before and after are the first and the last. Without one
// process to follow objects in ("same_process":false, or a watch) the keys of what stayed and was
// kept are left out, as are "new" and "gone" unless true and no remarks. The growth at the top is
// of all types, whatever --top left out of `types`.

#include "report/format/write/growth_formats.h"
#include "report/format/write/root_path_text.h"

namespace heapattach {

namespace {

JsonRecord source_record(const GrowthSource& source) {
  JsonRecord record;
  record.text("source", source.name);
  if (source.pid != 0) record.number("pid", source.pid);
  record.text_unless_empty("exe", source.exe);
  record.attributes_unless_empty("resource", source.resource);
  record.text_unless_empty("captured", source.captured);
  record.number("objects", source.objects);
  record.number("bytes", source.bytes);
  return record;
}

void add_holders(const GrowthReport& report, JsonRecord& record) {
  if (report.last == nullptr) return;
  analyze::EdgeNames names(*report.last);
  record.number("new_bytes", report.holders.new_bytes);
  record.open_list("holders");
  for (const analyze::GrowthHolder& holder : report.holders.found) {
    record.item(holder_record(report, holder, names));
  }
  record.close_list();
}

}  // namespace

JsonRecord holder_record(const GrowthReport& report,
                         const analyze::GrowthHolder& holder,
                         analyze::EdgeNames& names) {
  JsonRecord item;
  item.text("sentence", sentence_of(report, holder));
  item.text("type", holder.type);
  item.number("objects", holder.objects);
  item.number("retained_bytes", holder.retained_bytes);
  item.open_list("with");
  for (const analyze::RetainedNew& other : holder.others) {
    JsonRecord with;
    with.text("type", other.type);
    with.number("objects", other.objects);
    with.number("bytes", other.bytes);
    item.item(std::move(with));
  }
  item.close_list();
  item.number("through", holder.through);
  item.text("summary", holder.summary);
  add_root_path(*report.last, holder.root, holder.root_path, names, item);
  add_other_paths("other_paths", holder.other_paths, item);
  return item;
}

std::string format_growth_json(const GrowthReport& report) {
  JsonRecord record;
  record.number("version", 1);
  record.text("report", report.kind == GrowthKind::Watch ? "watch" : "diff");
  record.open_list("snapshots");
  for (const GrowthSource& source : report.sources) record.item(source_record(source));
  record.close_list();
  record.boolean("same_process", report.origins.is_same_process);
  record.list_unless_empty("remarks", report.origins.remarks);
  const analyze::TypeGrowth& total = report.difference.total;
  record.number("grown_objects", total.grown_objects());
  record.number("grown_bytes", total.grown_bytes());
  if (report.has_kept()) {
    record.number("kept_objects", total.kept.objects);
    record.number("kept_bytes", total.kept.bytes);
  }
  add_rows("types", growth_grid(report, report.difference.rows), record);
  add_holders(report, record);
  return std::move(record).line();
}

}  // namespace heapattach
