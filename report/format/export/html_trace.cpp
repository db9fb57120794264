// The part of a page that is about a trace, as a key of its data (html.cpp):
//
//   "trace":{"every":N,"duration_ns":N,"samples":N,"drops":N,"complete":true,"reason":"",
//    "warnings":["…"],"collector_bytes":N,"total":AMOUNTS,
//    "frames":["Shop#login (shop.cr:12)",…],
//    "types":[[name,AMOUNTS…]…],                  a name is a number among the "names" of the page
//    "sites":[[name,[frame…],AMOUNTS…]…],         frames innermost first
//    "left_out":{"sites":N,"bytes":N},            fewer bytes than those
//    "timeline":{"step_ns":N,"rows":[[name,[bytes…]]…],"others":[bytes…],"in_use":[bytes…]}}
//
// AMOUNTS is allocations, bytes, objects in use, bytes in use: estimates, rounded. A page about a
// trace alone has "has_heap":false, and nothing in the keys about a heap.

#include "report/format/export/html_trace.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/format/export/html_page.h"
#include "report/format/export/html_sections.h"
#include "report/format/export/stream.h"
#include "report/short_names.h"

namespace heapattach {

namespace {

std::int64_t whole(double amount) {
  return std::llround(std::max(0.0, amount));
}

trace::SiteChoice of_sites(trace::SiteChoice choice) {
  choice.by = trace::GroupBy::Stack;
  choice.top = std::min(choice.top.value_or(HtmlTrace::kMostSites), HtmlTrace::kMostSites);
  return choice;
}

trace::SiteChoice of_types(const trace::SiteChoice& choice) {
  trace::SiteChoice types;
  types.by = trace::GroupBy::Type;
  types.types = choice.types;
  types.frames.text = trace::FrameText::None;
  return types;
}

void put_amounts(HtmlJson& json, const trace::Amounts& amounts) {
  json.number(whole(amounts.allocations));
  json.number(whole(amounts.bytes));
  json.number(whole(amounts.in_use_objects));
  json.number(whole(amounts.in_use_bytes));
}

void put_series(HtmlJson& json, const std::vector<double>& series) {
  json.open('[');
  for (const double value : series) json.number(whole(value));
  json.close(']');
}

void put_about(HtmlJson& json, const HtmlTrace& trace) {
  const trace::Header& header = trace.trace.header;
  json.number("every", header.every);
  json.number("duration_ns", header.duration_ns);
  json.number("samples", trace.sites.total.samples);
  json.number("drops", header.drops);
  json.boolean("complete", header.complete);
  json.text("reason", header.reason);
  json.open("warnings", '[');
  for (const std::string& warning : header.warnings) json.text(warning);
  json.close(']');
  if (const auto bytes = trace.sites.collectors_bytes()) json.number("collector_bytes", *bytes);
  json.open("total", '[');
  put_amounts(json, trace.sites.total);
  json.close(']');
}

void put_types(HtmlJson& json, const HtmlTrace& trace) {
  json.open("types", '[');
  for (const trace::Site& row : trace.types.rows) {
    json.open('[');
    json.number(trace.numbers.find(row.type)->second);
    put_amounts(json, row.amounts);
    json.close(']');
  }
  json.close(']');
}

void put_sites(HtmlJson& json, const HtmlTrace& trace) {
  std::map<std::string_view, std::size_t> frames;
  std::vector<std::string_view> texts;
  for (const trace::Site& site : trace.sites.rows) {
    for (const std::string& frame : site.frames) {
      if (frames.try_emplace(frame, texts.size()).second) texts.emplace_back(frame);
    }
  }
  json.open("frames", '[');
  for (const std::string_view text : texts) json.text(text);
  json.close(']');
  json.open("sites", '[');
  for (const trace::Site& site : trace.sites.rows) {
    json.open('[');
    json.number(trace.numbers.find(site.type)->second);
    json.open('[');
    for (const std::string& frame : site.frames) json.number(frames.find(frame)->second);
    json.close(']');
    put_amounts(json, site.amounts);
    json.close(']');
  }
  json.close(']');
  json.open("left_out", '{');
  json.number("sites", trace.sites.left_out_rows);
  json.number("bytes", whole(trace.sites.left_out.bytes));
  json.close('}');
}

void put_timeline(HtmlJson& json, const HtmlTrace& trace) {
  const trace::Timeline& line = trace.timeline;
  json.open("timeline", '{');
  json.number("step_ns", line.step_ns);
  json.open("rows", '[');
  for (const trace::Timeline::Row& row : line.rows) {
    json.open('[');
    json.number(trace.numbers.find(trace::type_name(trace.trace, row.type))->second);
    put_series(json, row.bytes);
    json.close(']');
  }
  json.close(']');
  json.key("others");
  put_series(json, line.others);
  json.key("in_use");
  put_series(json, line.in_use);
  json.close('}');
}

void put_process(HtmlJson& json, const trace::Header& header) {
  json.open("process", '{');
  json.number("pid", header.pid);
  json.text("exe", header.exe);
  json.text("host", header.host);
  json.attributes_unless_empty("resource", header.resource);
  json.text("captured", header.started);
  json.text("source", "trace");
  json.close('}');
}

}  // namespace

HtmlTrace::HtmlTrace(const trace::Trace& of,
                     const trace::SiteChoice& choice,
                     const Deadline& deadline)
    : trace(of),
      sites(trace::make_site_table(of, of_sites(choice), deadline)),
      types(trace::make_site_table(of, of_types(choice), deadline)),
      timeline(trace::make_timeline(of, choice.types, kSteps, kMostLines)) {}

Result<void> HtmlTrace::check(const Deadline& deadline) const {
  HA_TRY(deadline.check("counting the samples"));
  if (!sites.is_cut && !types.is_cut) return {};
  return Error{ErrorKind::Timeout, "counting the samples: the deadline passed"};
}

void HtmlTrace::add_names(std::vector<std::string>& names) {
  std::map<std::string, NameIndex> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    known.try_emplace(names[i], static_cast<NameIndex>(i));
  }
  for (const trace::Site& row : types.rows) {
    const std::string name = terminal_text(shown_type_name(row.type));
    const auto [at, is_new] = known.try_emplace(name, static_cast<NameIndex>(names.size()));
    if (is_new) names.push_back(name);
    numbers.emplace(row.type, at->second);
  }
}

void put_html_trace(HtmlJson& json, const HtmlTrace& trace) {
  json.open("trace", '{');
  put_about(json, trace);
  put_types(json, trace);
  put_sites(json, trace);
  put_timeline(json, trace);
  json.close('}');
}

Result<void> write_html_without_heap(HtmlTrace& trace, Sink& sink, const ExportOptions& options) {
  std::vector<std::string> names;
  trace.add_names(names);
  ExportStream out(sink, options);
  out.put(html_before_data());
  HtmlJson json(out);
  json.open('{');
  json.number("version", 1);
  json.text("tool", trace.trace.header.tool);
  put_process(json, trace.trace.header);
  put_html_no_heap(json);
  json.open("names", '[');
  for (const std::string& name : names) json.safe_text(name);
  json.close(']');
  put_html_trace(json, trace);
  json.close('}');
  out.put(html_behind_data());
  return out.finish();
}

}  // namespace heapattach
