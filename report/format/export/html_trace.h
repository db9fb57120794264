#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "report/format/export/export_options.h"
#include "report/format/export/html_json.h"
#include "report/format/export/html_view.h"
#include "report/trace/sites.h"
#include "report/trace/timeline.h"

namespace heapattach {

// The parts of a trace that a page shows.
struct HtmlTrace {
  static constexpr std::size_t kMostSites = 4000;
  static constexpr std::size_t kSteps = 60;
  static constexpr std::size_t kMostLines = 8;  // types over time

  HtmlTrace(const trace::Trace& of, const trace::SiteChoice& choice, const Deadline& deadline);

  // Timeout if the deadline passed before all was counted.
  [[nodiscard]] Result<void> check(const Deadline& deadline) const;
  // Adds the names of its types to those of the page, unless they are there.
  void add_names(std::vector<std::string>& names);

  const trace::Trace& trace;
  trace::SiteTable sites;
  trace::SiteTable types;
  trace::Timeline timeline;
  std::map<std::string, NameIndex, std::less<>> numbers;  // of the names of types
};

// Adds the key "trace" to the open object.
void put_html_trace(HtmlJson& json, const HtmlTrace& trace);

// Writes a page about the trace alone.
Result<void> write_html_without_heap(HtmlTrace& trace, Sink& sink, const ExportOptions& options);

}  // namespace heapattach
