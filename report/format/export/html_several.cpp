// A page of several processes: the same page, whose data are those of all their pages.
//
//   {"version":1,"tool":"…","process":{"pid":0,"exe":""},"has_heap":false,…,
//    "pages":[{…},…],                       each the data of a page, see html.cpp
//    "failed":[{"pid":4711,"name":"web","why":"no supported heap"}…]}

#include <algorithm>
#include <vector>

#include "report/format/export/html.h"
#include "report/format/export/html_page.h"
#include "report/format/export/html_sections.h"
#include "report/format/write/text_sink.h"

namespace heapattach {

namespace {

std::string_view data_of(std::string_view page) {
  page.remove_prefix(std::min(page.size(), html_before_data().size()));
  page.remove_suffix(std::min(page.size(), html_behind_data().size()));
  return page;
}

void put_whole(HtmlJson& json) {
  json.number("version", 1);
  json.text("tool", "heapattach " HEAPATTACH_VERSION);
  json.open("process", '{');
  json.number("pid", 0);
  json.text("exe", "");
  json.close('}');
  put_html_no_heap(json);
  json.open("names", '[');
  json.close(']');
}

void put_failed(HtmlJson& json, std::span<const ReportText> reports) {
  json.open("failed", '[');
  for (const ReportText& report : reports) {
    if (!report.text.empty()) continue;
    json.open('{');
    json.number("pid", report.pid);
    json.text("name", report.name);
    json.text("why", report.why_not);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string join_html(std::span<const ReportText> reports) {
  std::string page;
  TextSink sink(page);
  const ExportOptions options;
  ExportStream out(sink, options);
  out.put(html_before_data());
  HtmlJson json(out);
  json.open('{');
  put_whole(json);
  json.open("pages", '[');
  for (const ReportText& report : reports) {
    if (!report.text.empty()) json.raw(data_of(report.text));
  }
  json.close(']');
  put_failed(json, reports);
  json.close('}');
  out.put(html_behind_data());
  return out.finish() ? page : "";
}

}  // namespace heapattach
