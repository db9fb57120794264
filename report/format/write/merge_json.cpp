// One JSON object on one line, version 1:
//
//   {"version":1,"report":"merge","snapshots":[{"source":"web-1.jsonl.gz","pid":4711,
//    "exe":"/srv/app","host":"web-1","captured":"…","objects":N,"bytes":N},…],
//    "total":{"objects":N,"bytes":N,"median_bytes":N,"most_bytes":N,"far":[6]},
//    "types":[{"type":"Session","objects":N,"bytes":N,"median_bytes":N,"most_bytes":N,
//     "in":[0,1],"counts":[1000,1000],"sizes":[48000,48000],"far":[1]}],"left_out":N}
//
// `in` are the snapshots that have objects of the type, as indices into `snapshots`; `counts` and
// `sizes` are their objects and bytes, in the same order. `far` are the snapshots whose bytes are
// far from the median (report/analyze/merge.h), which may have none. A snapshot that is partial has
// "complete":false and a "reason"; one that could not be read, "read":false and a "reason", and no
// numbers. "short" is left out unless people write a type differently, "left_out" unless --top and
// its kind left out types.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/format/write/json_record.h"
#include "report/format/write/merge_formats.h"
#include "report/short_names.h"

namespace heapattach {

namespace {

using analyze::MergedCell;
using analyze::MergedRow;
using analyze::MergedSnapshot;
using analyze::MergedTable;

JsonRecord snapshot_record(const MergedSnapshot& one) {
  JsonRecord record;
  record.text("source", one.source);
  if (!one.is_read) {
    record.boolean("read", false);
    record.text("reason", one.reason);
    return record;
  }
  record.number("pid", one.pid);
  record.text_unless_empty("exe", one.exe);
  record.attributes_unless_empty("resource", one.resource);
  record.text_unless_empty("host", one.host);
  record.text_unless_empty("captured", one.captured);
  record.number("objects", one.objects);
  record.number("bytes", one.bytes);
  if (!one.complete) {
    record.boolean("complete", false);
    record.text("reason", one.reason);
  }
  return record;
}

void add_sums(const MergedRow& row, JsonRecord& record) {
  record.number("objects", row.objects);
  record.number("bytes", row.bytes);
  record.number("median_bytes", row.median_bytes);
  record.number("most_bytes", row.most_bytes);
}

template <class Number>
void add_list(std::string_view key, const std::vector<Number>& numbers, JsonRecord& record) {
  record.raw(key, fmt::format("[{}]", fmt::join(numbers, ",")));
}

std::vector<std::uint32_t> far_of(const MergedRow& row) {
  std::vector<std::uint32_t> far;
  for (const MergedCell& cell : row.cells) {
    if (cell.is_far) far.push_back(cell.snapshot);
  }
  return far;
}

JsonRecord type_record(const MergedRow& row) {
  JsonRecord record;
  record.text("type", row.type);
  if (std::string name = short_type_name(row.type); name != row.type) record.text("short", name);
  add_sums(row, record);
  std::vector<std::uint32_t> in;
  std::vector<std::uint32_t> far;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> sizes;
  for (const MergedCell& cell : row.cells) {
    if (cell.is_far) far.push_back(cell.snapshot);
    if (cell.objects == 0) continue;
    in.push_back(cell.snapshot);
    counts.push_back(cell.objects);
    sizes.push_back(cell.bytes);
  }
  add_list("in", in, record);
  add_list("counts", counts, record);
  add_list("sizes", sizes, record);
  add_list("far", far, record);
  return record;
}

}  // namespace

std::string format_merge_json(const MergedTable& table) {
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "merge");
  record.open_list("snapshots");
  for (const MergedSnapshot& one : table.snapshots) record.item(snapshot_record(one));
  record.close_list();
  JsonRecord total;
  add_sums(table.total, total);
  add_list("far", far_of(table.total), total);
  record.object("total", std::move(total));
  record.open_list("types");
  for (const MergedRow& row : table.rows) record.item(type_record(row));
  record.close_list();
  if (table.left_out_rows != 0) record.number("left_out", table.left_out_rows);
  return std::move(record).line();
}

}  // namespace heapattach
