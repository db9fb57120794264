#include "report/format/write/together.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace heapattach {

namespace {

// Calls visit(line) for each line, which has no line feed.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string join_cells(std::span<const ReportText> reports, char separator) {
  std::string out;
  for (const ReportText& report : reports) {
    bool is_header = true;
    for_each_line(report.text, [&](std::string_view line) {
      if (!is_header) {
        out += fmt::format("{}{}{}\n", report.pid, separator, line);
      } else if (out.empty()) {
        out += fmt::format("pid{}{}\n", separator, line);
      }
      is_header = false;
    });
  }
  return out;
}

// A metric: the lines about it that begin with '#', and its samples.
struct Metric {
  std::string name;
  std::string about;
  std::string samples;
};

constexpr std::string_view kType = "# TYPE ";

// The metric that a TYPE line begins. It is new, or another process has it, too.
Metric& metric_of(std::string_view line, std::vector<Metric>& metrics) {
  line.remove_prefix(kType.size());
  const std::string_view name = line.substr(0, line.find(' '));
  const auto known = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const Metric& one) { return one.name == name; });
  return known != metrics.end() ? *known : metrics.emplace_back(Metric{std::string(name), {}, {}});
}

void add_metrics(std::string_view text, std::vector<Metric>& metrics) {
  Metric* metric = nullptr;
  bool is_described = false;
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with(kType)) {
      metric = &metric_of(line, metrics);
      is_described = !metric->about.empty();
    }
    if (metric == nullptr || line == "# EOF") return;
    const bool is_about = line.starts_with('#');
    if (is_about && is_described) return;
    (is_about ? metric->about : metric->samples).append(line).append("\n");
  });
}

}  // namespace

std::string join_csv(std::span<const ReportText> reports) {
  return join_cells(reports, ',');
}

std::string join_tsv(std::span<const ReportText> reports) {
  return join_cells(reports, '\t');
}

std::string join_openmetrics(std::span<const ReportText> reports) {
  std::vector<Metric> metrics;
  for (const ReportText& report : reports) add_metrics(report.text, metrics);
  std::string out;
  for (const Metric& metric : metrics) out += metric.about + metric.samples;
  return out + "# EOF\n";
}

}  // namespace heapattach
