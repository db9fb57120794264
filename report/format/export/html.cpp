// A report for a browser: one file that needs no network and no other file.
//
// The page is in html/ as it is written by hand, and is built into the program: its styles and
// its script are in the file itself, and its Content-Security-Policy names both by their hashes
// and forbids everything else, so that nothing is loaded and nothing else can run. Between its two
// parts goes the report as JSON, which the script reads with JSON.parse and shows as text, never as
// markup:
//
//   {"version":1,"tool":"…","process":{"pid":4711,"exe":"…",…},"has_heap":true,"complete":true,"reason":"",
//    "totals":{"objects":N,"bytes":N,…},"has_edges":true,
//    "names":["Session","static data",…],             types first, in the order of "types"
//    "types":[[objects,bytes,retained,is_reachable]…],  by bytes
//    "guesses":[[number,"struct conn"]…],           what the objects of such a type probably are
//    "own":[number,…],                                types that are the program's own, by name
//    "left_out":{"types":N,"objects":N,"bytes":N},    smaller types than those
//    "tree":[[parent,name,objects,bytes,retained]…],   the tree of dominators by type; of a
//    difference
//                                                     also the bytes grown, and the node's own part
//    "links":[[holder,held,objects,bytes,retained]…],  names that dominate names at once
//    "ways":[{"type":name,"objects":N,"address":"0x…","steps":[["global CACHE",name]…]}…],
//    "suspects":{"threshold":N,"small":bool,"found":[{"sentence":"…","retained":N,"steps":[…],
//                "contents":[[name,objects,bytes]…]}…]},
//    "objects":[{"address":"0x…","type":name,"bytes":N,"retained":N,"fields":[["@user","0x…",name]…],
//                "fields_in_all":N,"values":[["@name","ann"]…],"roots":["global CACHE"…],
//                "referrers":[["@next","0x…",name]…],"referrers_in_all":N}…],
//    "findings":…,"threads":…,"groups":…,"stacks":…,     html_stacks.cpp
//    "trace":{…},                                      html_trace.cpp
//    "difference":{"sources":[[name,captured,objects,bytes]…],"remarks":["…"],"rows":[[type,
//                objects before,bytes before,objects after,bytes after,stayed,kept,
//                retained bytes grown]…],"holders":[{"sentence":"…","steps":[…],…}…],…}}
//
// It holds what the views need: of the largest heap a few megabytes.

#include "report/format/export/html.h"

#include <utility>
#include <vector>

#include "report/format/export/html_json.h"
#include "report/format/export/html_page.h"
#include "report/format/export/html_sections.h"
#include "report/format/export/html_trace.h"
#include "report/format/export/html_view.h"
#include "report/format/export/stream.h"
#include "report/short_names.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

void put_process(HtmlJson& json, const Snapshot& snapshot) {
  const snapshot::Header& header = snapshot.header;
  json.open("process", '{');
  json.number("pid", header.pid);
  json.text("exe", header.exe);
  json.text("host", header.host);
  json.attributes_unless_empty("resource", header.resource);
  json.text("captured", header.captured);
  json.text("source", header.source);
  if (header.pause_ms) {
    json.key("pause_ms");
    json.raw(fmt::format("{:.3f}", *header.pause_ms));
  }
  if (!snapshot.heaps.empty()) {
    const snapshot::Heap& heap = snapshot.heaps.front();
    json.text("collector", heap.name + " " + heap.version);
  }
  json.close('}');
}

void put_totals(HtmlJson& json, const snapshot::CountTable& counts) {
  json.open("totals", '{');
  json.number("objects", counts.objects);
  json.number("bytes", counts.bytes);
  json.number("typed_bytes", counts.typed_bytes);
  json.number("unreachable_bytes", counts.unreachable_bytes);
  if (counts.leaked_bytes) {
    json.number("leaked_bytes", *counts.leaked_bytes);
    json.number("overhead_bytes", *counts.overhead_bytes);
  }
  if (counts.heap_bytes) json.number("heap_bytes", *counts.heap_bytes);
  if (counts.free_bytes) json.number("free_bytes", *counts.free_bytes);
  json.close('}');
}

void put_types(HtmlJson& json, const HtmlView& view) {
  json.open("names", '[');
  for (const std::string& name : view.names) json.safe_text(name);
  json.close(']');
  json.open("types", '[');
  for (const snapshot::CountRow& row : view.counts.rows) {
    json.numbers(row.objects, row.bytes, row.sizes ? row.sizes->retained_bytes : 0,
                 row.is_reachable ? 1 : 0);
  }
  json.close(']');
  json.open("own", '[');
  for (const NameIndex type : view.own) json.number(type);
  json.close(']');
  json.open("guesses", '[');
  for (std::size_t row = 0; row < view.counts.rows.size(); ++row) {
    const std::string& guess = view.counts.rows[row].guess;
    if (guess.empty()) continue;
    json.open('[');
    json.number(row);
    json.text(shown_type_name(guess));
    json.close(']');
  }
  json.close(']');
  json.open("left_out", '{');
  json.number("types", view.left_out_rows);
  json.number("objects", view.left_out_objects);
  json.number("bytes", view.left_out_bytes);
  json.close('}');
}

void put_tree(HtmlJson& json, const HtmlView& view) {
  json.open("tree", '[');
  for (const HtmlView::Node& node : view.tree) {
    if (view.has_growth) {
      json.numbers(node.parent, node.name, node.objects, node.bytes, node.retained, node.grown,
                   node.own_grown);
    } else {
      json.numbers(node.parent, node.name, node.objects, node.bytes, node.retained);
    }
  }
  json.close(']');
  json.open("links", '[');
  for (const HtmlView::Link& link : view.links) {
    json.numbers(link.holder, link.held, link.objects, link.bytes, link.retained);
  }
  json.close(']');
}

// Optional parts of a page, in addition to the snapshot; null if absent.
struct More {
  const GrowthReport* growth = nullptr;
  HtmlTrace* trace = nullptr;
};

Result<void> write_page(const Snapshot& snapshot,
                        const More& more,
                        Sink& sink,
                        const ExportOptions& options) {
  const GrowthReport* const growth = more.growth;
  HtmlWishes wishes;
  if (growth != nullptr && growth->last == &snapshot) {
    for (const analyze::GrowthHolder& holder : growth->holders.found) {
      for (const analyze::Step& step : holder.root_path) wishes.objects.push_back(step.object);
    }
    wishes.earlier = growth->first;
  }
  HtmlView view = HA_TRY(make_html_view(snapshot, std::move(wishes), options.deadline));
  if (more.trace != nullptr) more.trace->add_names(view.names);
  ExportStream out(sink, options);
  out.put(html_before_data());
  HtmlJson json(out);
  json.open('{');
  json.number("version", 1);
  json.text("tool", snapshot.header.tool);
  put_process(json, snapshot);
  json.boolean("has_heap", true);
  json.boolean("complete", snapshot.complete);
  json.text("reason", snapshot.reason);
  put_totals(json, view.counts);
  json.boolean("has_edges", view.has_edges);
  put_types(json, view);
  put_tree(json, view);
  put_html_paths(json, snapshot, view);
  put_html_suspects(json, snapshot, view);
  put_html_objects(json, snapshot, view, options.with_values);
  put_html_stacks(json, snapshot, view);
  if (growth != nullptr) put_html_growth(json, view, *growth);
  if (more.trace != nullptr) put_html_trace(json, *more.trace);
  json.close('}');
  out.put(html_behind_data());
  return out.finish();
}

}  // namespace

Result<void> write_html(const Snapshot& snapshot, Sink& sink, const ExportOptions& options) {
  return write_page(snapshot, {}, sink, options);
}

Result<void> write_html_of_growth(const Snapshot& snapshot,
                                  const GrowthReport& growth,
                                  Sink& sink,
                                  const ExportOptions& options) {
  return write_page(snapshot, {.growth = &growth}, sink, options);
}

Result<void> write_html_of_trace(const trace::Trace& trace,
                                 const Snapshot* heap,
                                 const trace::SiteChoice& choice,
                                 Sink& sink,
                                 const ExportOptions& options) {
  HtmlTrace view(trace, choice, options.deadline);
  HA_TRY(view.check(options.deadline));
  if (heap == nullptr) return write_html_without_heap(view, sink, options);
  return write_page(*heap, {.trace = &view}, sink, options);
}

}  // namespace heapattach
