// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"every":524288,"estimates":true,"duration_ns":N,"by":"stack",
//    "collector_bytes":N,"drops":0,"complete":true,
//    "total":{"allocations":N,"bytes":N,"bytes_per_second":N,"in_use_objects":N,"in_use_bytes":N,
//             "samples":N},
//    "left_out":{"rows":N,… as total,…},
//    "rows":[{… as total,… "name":"thread 4711 shop","type":"Session","more_types":2,
//             "frames":["Shop#login (shop.cr:12)",…],"more_places":3}]}
//
// Frames are innermost first. `collector_bytes` is what the collector says was allocated meanwhile.
// `total` is of all types that --type chose. "complete":false has a "reason"; `drops` samples were
// lost, and then it is false as well. `warnings` are texts.

#include <utility>

#include "report/format/write/json_record.h"
#include "report/format/write/sites_formats.h"

namespace heapattach {

namespace {

std::string_view name_of(trace::GroupBy by) {
  switch (by) {
    case trace::GroupBy::Stack: return "stack";
    case trace::GroupBy::Function: return "function";
    case trace::GroupBy::Line: return "line";
    case trace::GroupBy::Type: return "type";
    case trace::GroupBy::Thread: return "thread";
    case trace::GroupBy::Fiber: break;
  }
  return "fiber";
}

void add_amounts(JsonRecord& record, const trace::SiteTable& table, const trace::Amounts& amounts) {
  const trace::Site site{.amounts = amounts};
  Grid grid = site_grid(table, {&site, 1});
  grid.columns.resize(kAmountColumns);
  add_row(grid, 0, record);
}

}  // namespace

std::string format_sites_json(const trace::SiteTable& table) {
  const trace::Header& header = table.header;
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", header.pid);
  record.number("every", header.every);
  record.boolean("estimates", table.is_estimate());
  record.number("duration_ns", header.duration_ns);
  record.text("by", name_of(table.by));
  record.number("collector_bytes", table.collectors_bytes());
  record.number("drops", header.drops);
  record.boolean("complete", header.complete && header.drops == 0);
  record.text_unless_empty("reason", header.reason);
  record.list_unless_empty("warnings", header.warnings);
  JsonRecord total;
  add_amounts(total, table, table.total);
  record.object("total", std::move(total));
  if (table.left_out_rows != 0) {
    JsonRecord left_out;
    left_out.number("rows", table.left_out_rows);
    add_amounts(left_out, table, table.left_out);
    record.object("left_out", std::move(left_out));
  }
  add_rows("rows", site_grid(table, table.rows), record);
  return std::move(record).line();
}

}  // namespace heapattach
