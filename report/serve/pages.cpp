#include "report/serve/pages.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/format/write/together.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach::serve {

namespace {

using Seconds = std::chrono::duration<double>;

double seconds_of(std::int64_t nanoseconds) {
  return Seconds(std::chrono::nanoseconds(nanoseconds)).count();
}

// All facts about one process.
struct Known {
  const Account& account;
  const ProcessCounts& counts;
  std::int64_t budget_left_ns;
};

// A metric of ours with one sample for each process.
struct OwnMetric {
  std::string_view name;  // without "heapattach_", and without "_total"
  std::string_view type;
  std::string_view help;
  double (*value)(const Known& known);
};

constexpr OwnMetric kOwnMetrics[] = {
    {"up", "gauge", "1 if the counts of the process could be taken, 0 if not.",
     [](const Known& known) { return known.counts.text.empty() ? 0.0 : 1.0; }},
    {"resident_bytes", "gauge", "Resident memory of the process.",
     [](const Known& known) { return static_cast<double>(known.account.process.resident_bytes); }},
    {"counts_age_seconds", "gauge", "How old the counts are.",
     [](const Known& known) { return static_cast<double>(known.counts.answer.age_ms) / 1e3; }},
    {"captures", "counter", "Captures of the process.",
     [](const Known& known) { return static_cast<double>(known.account.captures); }},
    {"failed_captures", "counter", "Captures of the process that gave no report.",
     [](const Known& known) { return static_cast<double>(known.account.failures); }},
    {"pause_seconds", "counter", "How long the process has been stopped in all.",
     [](const Known& known) { return Seconds(known.account.pause).count(); }},
    {"cost_seconds", "counter", "Processor time that heapattach used for the process.",
     [](const Known& known) { return Seconds(known.account.processor_time).count(); }},
    {"pause_budget_left_seconds", "gauge", "How much of the pause budget is left.",
     [](const Known& known) { return seconds_of(known.budget_left_ns); }},
};

void begin(std::string& out,
           const OwnMetric& metric,
           std::string_view suffix,
           bool is_openmetrics) {
  const std::string_view in_head = is_openmetrics ? std::string_view() : suffix;
  const std::string name = fmt::format("heapattach_{}{}", metric.name, in_head);
  out += fmt::format("# TYPE {} {}\n", name, metric.type);
  const bool has_unit = metric.name.ends_with("_seconds") || metric.name.ends_with("_bytes");
  if (has_unit && is_openmetrics) {
    out += fmt::format("# UNIT {} {}\n", name, metric.name.substr(metric.name.rfind('_') + 1));
  }
  out += fmt::format("# HELP {} {}\n", name, metric.help);
}

// The metrics of the whole server, and the names of the processes.
std::string metrics_of_server(const ServerState& state) {
  std::string out =
      "# TYPE heapattach_process_info gauge\n"
      "# HELP heapattach_process_info 1 for each process that is served; its labels name it.\n";
  for (const Account& account : state.accounts) {
    out += fmt::format("heapattach_process_info{{pid=\"{}\",name=\"{}\"}} 1\n", account.process.pid,
                       metric_label(account.process.name));
  }
  out += fmt::format(
      "# TYPE heapattach_processes gauge\n# HELP heapattach_processes Processes that are served.\n"
      "heapattach_processes {}\n"
      "# TYPE heapattach_processes_left_out gauge\n"
      "# HELP heapattach_processes_left_out Processes beyond the most that can be served.\n"
      "heapattach_processes_left_out {}\n"
      "# TYPE heapattach_pause_budget_seconds gauge\n"
      "# HELP heapattach_pause_budget_seconds How long each process may be stopped per minute.\n"
      "heapattach_pause_budget_seconds {}\n",
      state.accounts.size(), state.left_out, seconds_of(state.budget_ns));
  return out;
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char letter : terminal_text(text)) {
    switch (letter) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

constexpr std::string_view kHead =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>heapattach</title>\n"
    "<style>body{font:15px system-ui,sans-serif;margin:2em;max-width:70em}"
    "table{border-collapse:collapse}td,th{padding:.3em 1em .3em 0;text-align:left}"
    "td.n{text-align:right}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}"
    "a{color:#8bf}}</style>\n<h1>heapattach</h1>\n";

std::string row_of(const Account& account, std::int64_t budget_left_ns, bool with_recordings) {
  const pid_t pid = account.process.pid;
  std::string links;
  for (const Page& page : kPages) {
    if (!page.about.empty() && (with_recordings || !is_recording(page.what))) {
      links += fmt::format("<a href=\"{}?pid={}\">{}</a> ", page.path, pid, page.about);
    }
  }
  return fmt::format(
      "<tr><td class=n>{}<td>{}<td class=n>{}<td class=n>{:.1f} ms<td class=n>{:.0f} ms<td>{}\n",
      pid, html_text(account.process.name), human_bytes(account.process.resident_bytes),
      Seconds(account.pause).count() * 1e3, seconds_of(budget_left_ns) * 1e3, links);
}

}  // namespace

std::string metrics_page(const ServerState& state,
                         const std::map<pid_t, ProcessCounts>& counts,
                         bool is_openmetrics) {
  static const ProcessCounts kNone;
  std::string own = metrics_of_server(state);
  for (const OwnMetric& metric : kOwnMetrics) {
    const std::string_view suffix = metric.type == "counter" ? "_total" : "";
    begin(own, metric, suffix, is_openmetrics);
    for (std::size_t i = 0; i < state.accounts.size(); ++i) {
      const Account& account = state.accounts[i];
      const auto found = counts.find(account.process.pid);
      const Known known{account, found == counts.end() ? kNone : found->second,
                        state.budget_left_ns[i]};
      own += fmt::format("heapattach_{}{}{{pid=\"{}\"}} {}\n", metric.name, suffix,
                         account.process.pid, metric.value(known));
    }
  }
  std::vector<ReportText> texts{{0, std::move(own)}};
  for (const auto& [pid, one] : counts) texts.push_back({pid, one.text});
  std::string all = join_openmetrics(texts);
  constexpr std::string_view kEnd = "# EOF\n";
  if (!is_openmetrics && all.ends_with(kEnd)) all.resize(all.size() - kEnd.size());
  return all;
}

std::string list_page(const ServerState& state, bool with_recordings) {
  std::string out(kHead);
  out += fmt::format(
      "<p>{} served. Pause budget of each: {:.0f} ms per minute. <a "
      "href=\"/metrics\">metrics</a></p>\n"
      "<table><tr><th>pid<th>name<th>resident<th>stopped in all<th>budget left<th>\n",
      state.accounts.size() == 1 ? "1 process" : fmt::format("{} processes", state.accounts.size()),
      seconds_of(state.budget_ns) * 1e3);
  for (std::size_t i = 0; i < state.accounts.size(); ++i) {
    out += row_of(state.accounts[i], state.budget_left_ns[i], with_recordings);
  }
  out += "</table>\n";
  if (state.left_out != 0) {
    out += fmt::format("<p>{} more are not served: there are too many.</p>\n", state.left_out);
  }
  return out;
}

}  // namespace heapattach::serve
