// A report to look at in a browser: one file that needs no network and no other file.
//
// The page stands in html/ as it is written by hand, and is built into the program: its styles and
// its script stand in the file itself, and its Content-Security-Policy names both by their hashes
// and forbids everything else, so that nothing is loaded and nothing else can run. Between its two
// parts goes the report as JSON, which the script reads with JSON.parse and shows as text, never as
// markup:
//
//   {"version":1,"tool":"…","process":{"pid":4711,"exe":"…",…},"complete":true,"reason":"",
//    "totals":{"objects":N,"bytes":N,…},"has_edges":true,
//    "names":["Session","static data",…],             types first, in the order of "types"
//    "types":[[objects,bytes,retained,is_reachable]…],  by bytes
//    "left_out":{"types":N,"objects":N,"bytes":N},    smaller types than those
//    "tree":[[parent,name,objects,bytes,retained]…],   the tree of dominators by type
//    "links":[[holder,held,objects,bytes,retained]…],  names that dominate names at once
//    "ways":[{"type":name,"objects":N,"address":"0x…","steps":[["global CACHE",name]…]}…],
//    "suspects":{"threshold":N,"found":[{"sentence":"…","retained":N,"steps":[…],
//                "contents":[[name,objects,bytes]…]}…]},
//    "threads":[{"tid":N,"name":"…","state":"S","retained":N}…],"fibers_in_all":N,"fibers":[…],
//    "difference":{"sources":[[name,captured,objects,bytes]…],"remarks":["…"],"rows":[[type,
//                objects before,bytes before,objects after,bytes after,stayed,kept]…],…}}
//
// It holds what the views need: of the largest heap a few megabytes.

#include "report/export/html.h"

#include <algorithm>
#include <unordered_map>

#include "report/explain/roots.h"
#include "report/export/formats.h"
#include "report/export/html_json.h"
#include "report/export/html_page.h"
#include "report/export/html_view.h"
#include "report/export/stream.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

constexpr std::size_t kMostFibers = 500;
constexpr std::size_t kMostThreads = 2000;
constexpr std::size_t kShownSteps = 24;  // of the way to a suspect

std::string address_text(std::uint64_t address) {
  return fmt::format("{:#x}", address);
}

class PageWriter {
 public:
  PageWriter(const Snapshot& snapshot, const HtmlView& view, ExportStream& out)
      : snapshot_(snapshot), view_(view), json_(out), edge_names_(snapshot) {}

  void put(const GrowthReport* growth) {
    json_.open('{');
    put_head();
    put_types();
    put_tree();
    put_ways();
    put_suspects();
    put_stacks();
    if (growth != nullptr) put_growth(*growth);
    json_.close('}');
  }

 private:
  void text(std::string_view key, std::string_view value) {
    json_.key(key);
    json_.text(value);
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    json_.key(key);
    json_.number(value);
  }
  void boolean(std::string_view key, bool value) {
    json_.key(key);
    json_.raw(value ? "true" : "false");
  }

  void put_head() {
    const snapshot::Header& header = snapshot_.header;
    number("version", 1);
    text("tool", header.tool);
    json_.key("process");
    json_.open('{');
    number("pid", header.pid);
    text("exe", header.exe);
    text("host", header.host);
    text("captured", header.captured);
    text("source", header.source);
    if (header.pause_ms) {
      json_.key("pause_ms");
      json_.raw(fmt::format("{:.3f}", *header.pause_ms));
    }
    if (header.collector) {
      text("collector", header.collector->name + " " + header.collector->version);
    }
    json_.close('}');
    boolean("complete", snapshot_.complete);
    text("reason", snapshot_.reason);
    const snapshot::CountTable& counts = view_.counts;
    json_.key("totals");
    json_.open('{');
    number("objects", counts.objects);
    number("bytes", counts.bytes);
    number("typed_bytes", counts.typed_bytes);
    number("unreachable_bytes", counts.unreachable_bytes);
    if (counts.heap_bytes) number("heap_bytes", *counts.heap_bytes);
    if (counts.free_bytes) number("free_bytes", *counts.free_bytes);
    json_.close('}');
    boolean("has_edges", view_.has_edges);
  }

  void put_types() {
    json_.key("names");
    json_.open('[');
    for (const std::string& name : view_.names) json_.safe_text(name);
    json_.close(']');
    json_.key("types");
    json_.open('[');
    for (const snapshot::CountRow& row : view_.counts.rows) {
      json_.numbers(row.objects, row.bytes, row.sizes ? row.sizes->retained_bytes : 0,
                    row.is_reachable ? 1 : 0);
    }
    json_.close(']');
    json_.key("left_out");
    json_.open('{');
    number("types", view_.left_out_rows);
    number("objects", view_.left_out_objects);
    number("bytes", view_.left_out_bytes);
    json_.close('}');
  }

  void put_tree() {
    json_.key("tree");
    json_.open('[');
    for (const HtmlView::Node& node : view_.tree) {
      json_.numbers(node.parent, node.name, node.objects, node.bytes, node.retained);
    }
    json_.close(']');
    json_.key("links");
    json_.open('[');
    for (const HtmlView::Link& link : view_.links) {
      json_.numbers(link.holder, link.held, link.objects, link.bytes, link.retained);
    }
    json_.close(']');
  }

  // A step without a type is a gap, or one to a type that has no row.
  void put_step(std::string_view by, NameIndex name, std::string_view remark = {}) {
    json_.open('[');
    json_.text(by);
    if (name == graph::kNone) {
      json_.raw("null");
    } else {
      json_.number(name);
    }
    if (!remark.empty()) json_.text(remark);
    json_.close(']');
  }

  void put_ways() {
    json_.key("ways");
    json_.open('[');
    for (const auto& way : view_.ways) {
      const NameIndex name = view_.name_of_type[way.type];
      if (name == graph::kNone) continue;
      json_.open('{');
      number("type", name);
      number("objects", way.objects);
      number("bytes", way.bytes);
      text("address", address_text(snapshot_.objects[way.nearest].address));
      json_.key("steps");
      json_.open('[');
      for (const auto& stop : way.stops) {
        if (stop.left_out != 0) {
          put_step(fmt::format("… {} more", stop.left_out), graph::kNone);
        } else {
          put_step(stop.by, view_.name_of_type[stop.type], stop.is_repeated ? "and so on" : "");
        }
      }
      json_.close(']');
      json_.close('}');
    }
    json_.close(']');
  }

  void put_suspects() {
    json_.key("suspects");
    json_.open('{');
    number("threshold", view_.suspects.threshold);
    json_.key("found");
    json_.open('[');
    for (const explain::Suspect& suspect : view_.suspects.found) {
      json_.open('{');
      text("sentence", suspect.sentence);
      number("retained", suspect.retained_bytes);
      put_way(suspect);
      json_.key("contents");
      json_.open('[');
      for (const explain::Content& content : suspect.contents) {
        const NameIndex name = view_.name_of_type[content.type];
        if (name != graph::kNone) json_.numbers(name, content.objects, content.bytes);
      }
      json_.close(']');
      json_.close('}');
    }
    json_.close(']');
    json_.close('}');
  }

  void put_way(const explain::Suspect& suspect) {
    const graph::Way& way = suspect.way;
    json_.key("steps");
    json_.open('[');
    for (std::size_t i = 0; i < way.size(); ++i) {
      const bool is_cut =
          way.size() > kShownSteps && i >= kShownSteps / 2 && i < way.size() - kShownSteps / 2;
      if (is_cut) {
        put_step(fmt::format("… {} more", way.size() - kShownSteps), graph::kNone);
        i = way.size() - kShownSteps / 2 - 1;
        continue;
      }
      const snapshot::Object& object = snapshot_.objects[way[i].object];
      const std::string by = i == 0
                                 ? explain::root_in_words(snapshot_, snapshot_.roots[suspect.root])
                                 : edge_names_.name(way[i - 1].object, way[i].by);
      put_step(by, view_.name_of_type[object.type], address_text(object.address));
    }
    json_.close(']');
  }

  static std::unordered_map<std::uint64_t, std::uint64_t> by_id(
      const std::vector<HtmlView::Stack>& stacks) {
    std::unordered_map<std::uint64_t, std::uint64_t> retained;
    for (const HtmlView::Stack& stack : stacks) retained.emplace(stack.id, stack.retained);
    return retained;
  }

  void put_stacks() {
    const auto of_threads = by_id(view_.threads);
    json_.key("threads");
    json_.open('[');
    for (const snapshot::Thread& thread : snapshot_.threads) {
      json_.open('{');
      number("tid", thread.tid);
      text("name", thread.name);
      text("state", std::string(1, thread.state));
      const auto held = of_threads.find(static_cast<std::uint64_t>(thread.tid));
      if (held != of_threads.end()) number("retained", held->second);
      json_.close('}');
    }
    json_.close(']');
    put_fibers();
  }

  // Those that hold most.
  void put_fibers() {
    auto retained = by_id(view_.fibers);
    std::vector<const snapshot::Fiber*> fibers;
    for (const snapshot::Fiber& fiber : snapshot_.fibers) fibers.push_back(&fiber);
    std::stable_sort(fibers.begin(), fibers.end(), [&](const auto* a, const auto* b) {
      return retained[a->address] > retained[b->address];
    });
    number("fibers_in_all", fibers.size());
    fibers.resize(std::min(fibers.size(), kMostFibers));
    json_.key("fibers");
    json_.open('[');
    for (const snapshot::Fiber* fiber : fibers) {
      json_.open('{');
      text("address", address_text(fiber->address));
      text("name", fiber->name);
      number("retained", retained[fiber->address]);
      json_.close('}');
    }
    json_.close(']');
  }

  void put_growth(const GrowthReport& growth);

  const Snapshot& snapshot_;
  const HtmlView& view_;
  HtmlJson json_;
  explain::EdgeNames edge_names_;
};

void PageWriter::put_growth(const GrowthReport& growth) {
  json_.key("difference");
  json_.open('{');
  json_.key("sources");
  json_.open('[');
  for (const GrowthSource& source : growth.sources) {
    json_.open('[');
    json_.text(source.name);
    json_.text(source.captured);
    json_.number(source.objects);
    json_.number(source.bytes);
    json_.close(']');
  }
  json_.close(']');
  json_.key("remarks");
  json_.open('[');
  for (const std::string& remark : growth.kinship.remarks) json_.text(remark);
  json_.close(']');
  boolean("has_stayed", growth.has_objects());
  boolean("has_kept", growth.has_kept());
  number("left_out", growth.difference.left_out_rows);
  json_.key("rows");
  json_.open('[');
  for (const graph::TypeGrowth& row : growth.difference.rows) {
    json_.open('[');
    json_.text(row.type);
    json_.number(row.before.objects);
    json_.number(row.before.bytes);
    json_.number(row.after.objects);
    json_.number(row.after.bytes);
    json_.number(row.stayed.objects);
    json_.number(row.kept.objects);
    json_.close(']');
  }
  json_.close(']');
  json_.close('}');
}

Result<void> write_page(const Snapshot& snapshot,
                        const GrowthReport* growth,
                        Sink& sink,
                        const ExportOptions& options) {
  const HtmlView view = HA_TRY(make_html_view(snapshot, options.deadline));
  ExportStream out(sink, options);
  out.put(kHtmlBeforeData);
  PageWriter(snapshot, view, out).put(growth);
  out.put(kHtmlBehindData);
  return out.finish();
}

}  // namespace

Result<void> write_html(const Snapshot& snapshot, Sink& sink, const ExportOptions& options) {
  return write_page(snapshot, nullptr, sink, options);
}

Result<void> write_html_of_growth(const Snapshot& snapshot,
                                  const GrowthReport& growth,
                                  Sink& sink,
                                  const ExportOptions& options) {
  return write_page(snapshot, &growth, sink, options);
}

}  // namespace heapattach
