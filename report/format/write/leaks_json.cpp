// One JSON object on one line, version 1:
//
//   {"version":1,"report":"leaks","pid":4711,"leaks":55,"objects":145,"bytes":1520360,
//    "roots":[{"type":"Circle","leaks":40,"objects":120,"bytes":10240,"example":"0x5581e3b4c2b0",
//    "references":[{"key":"next","address":"0x5581e3b4c2d0","type":"Square"}]}],
//    "types":[{"type":"Circle","objects":60,"bytes":1440}]}
//
// `roots` groups leaks by the type of their root: an object that no other leaked object references,
// or, with "cycle":true, one of a cycle that nothing outside references. Each leaked object counts
// towards one root. `types` counts them by their own types. Left out unless they apply: a root's
// "guess", the struct that objects of which only the size is known probably are;
// "unsearched", the places where references to them may be that were not searched, such as
// "requests of io_uring"; "unconfirmed_objects", which were unreachable only at the second look;
// "ignored_objects" and "ignored_bytes"; "program_end", such as "exited with status 1", of a
// program that was looked at when it was about to exit; and "verdict":false with its "reason": then
// it is not known what leaked, and all numbers are left out.
//
// With --trace, each of `roots` has
// "allocated_by":[{"samples":12,"objects":39,"frames":["make_circle (shapes.cpp:12)",…]}], the code
// that allocated its roots, most objects first, innermost frame first; with "of_references":true if
// no root was sampled, and it is the code of what only they reach. It is empty for what was
// allocated before the trace or not sampled; `objects` is estimated. The recording is
// "trace":{"every":4096,"duration_ns":N,"samples":12,"drops":0,"shortfalls":["…"]}.

#include <algorithm>

#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/format/write/leak_formats.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::LeakRow;
using snapshot::Snapshot;

// The first few objects that the example references.
std::vector<JsonRecord> references_of(const Snapshot& snapshot, snapshot::ObjectIndex example) {
  constexpr std::size_t kShown = 16;
  analyze::EdgeNames names(snapshot);
  std::vector<JsonRecord> references;
  const auto edges = snapshot.edges_of(example);
  for (const snapshot::Edge& to : edges.first(std::min(edges.size(), kShown))) {
    JsonRecord reference;
    reference.text("key", names.name(example, to.offset_words));
    reference.address("address", snapshot.objects[to.to].address);
    reference.text("type", snapshot.types[snapshot.objects[to.to].type].name);
    references.push_back(std::move(reference));
  }
  return references;
}

constexpr Column<Snapshot, LeakRow> kColumns[] = {
    {{.json = "type"},
     [](const auto& snapshot, const auto& row) {
       return CellValue(snapshot.types[row.type].name);
     }},
    {{.json = "short"},
     [](const auto& snapshot, const auto& row) {
       return short_cell(snapshot.types[row.type].name);
     }},
    {{.json = "guess"},
     [](const auto& snapshot, const auto& row) {
       const std::string& guess = snapshot.types[row.type].guess;
       return guess.empty() ? CellValue() : CellValue(guess);
     }},
    {{.json = "cycle"},
     [](const auto&, const auto& row) { return row.is_cycle ? CellValue(true) : CellValue(); }},
    {{.head = "groups", .key = "leaks"}, member<&LeakRow::leaks>},
    {{.head = "objects", .key = "objects"}, member<&LeakRow::objects>},
    {{.head = "bytes", .key = "bytes", .unit = Unit::Bytes}, member<&LeakRow::bytes>},
    {{.json = "example"},
     [](const auto& snapshot, const auto& row) {
       return CellValue(Address{snapshot.objects[row.example].address});
     }},
    {{.json = "references"},
     [](const auto& snapshot, const auto& row) {
       return CellValue(references_of(snapshot, row.example));
     }},
    {{.head = "guess"},
     [](const auto& snapshot, const auto& row) {
       return CellValue(guess_text(snapshot.types[row.type].guess));
     },
     [](const Snapshot& snapshot) {
       return std::any_of(snapshot.types.begin(), snapshot.types.end(),
                          [](const snapshot::Type& type) { return !type.guess.empty(); });
     }},
    {{.head = "root of the leak"},
     [](const auto& snapshot, const auto& row) {
       return CellValue(terminal_text(shown_type_name(snapshot.types[row.type].name)) +
                        (row.is_cycle ? ", in a cycle" : ""));
     }},
};

}  // namespace

namespace {

// Adds the code of each row.
void add_code(const LeakReport& report, Grid& grid) {
  const std::size_t before = grid.columns.size();
  grid.columns.push_back({.json = "allocated_by"});
  grid.columns.push_back({.json = "of_references"});
  grid.value_at = [&report, before, others = std::move(grid.value_at)](std::size_t row,
                                                                       std::size_t column) {
    if (column < before) return others(row, column);
    const LeakCode& code = report.code[row];
    if (column == before) return CellValue(site_records(code.sites, SiteParts::Objects));
    return code.is_of_roots || code.sites.empty() ? CellValue() : CellValue(true);
  };
}

}  // namespace

Grid leak_grid(const Snapshot& snapshot, const LeakReport& report) {
  return grid_of(kColumns, snapshot, std::span(report.found.rows).first(report.shown_rows()));
}

std::string format_leaks_json(const Snapshot& snapshot, const LeakReport& report) {
  const analyze::Leaks& found = report.found;
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "leaks");
  record.number("pid", snapshot.header.pid);
  if (!report.program_end.empty()) record.text("program_end", report.program_end);
  if (!report.no_verdict.empty()) {
    record.boolean("verdict", false);
    record.text("reason", report.no_verdict);
    return std::move(record).line();
  }
  record.number("leaks", found.leaks);
  record.number("objects", found.objects);
  record.number("bytes", found.bytes);
  record.list_unless_empty("unsearched", analyze::unsearched_places(snapshot));
  if (found.unconfirmed_objects != 0) {
    record.number("unconfirmed_objects", found.unconfirmed_objects);
  }
  if (found.ignored_objects != 0) {
    record.number("ignored_objects", found.ignored_objects);
    record.number("ignored_bytes", found.ignored_bytes);
  }
  Grid rows = leak_grid(snapshot, report);
  if (report.trace) add_code(report, rows);
  add_rows("roots", rows, record);
  record.open_list("types");
  for (const analyze::LeakedType& type : found.types) {
    JsonRecord item;
    item.text("type", snapshot.types[type.type].name);
    item.number("objects", type.objects);
    item.number("bytes", type.bytes);
    record.item(std::move(item));
  }
  record.close_list();
  if (report.trace) record.object("trace", record_of(*report.trace));
  return std::move(record).line();
}

}  // namespace heapattach
