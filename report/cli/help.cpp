#include "report/cli/help.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/cli/report_table.h"
#include "report/exit_status.h"

namespace heapattach {

namespace {

constexpr std::size_t kColumns = 79;
constexpr std::size_t kHelpColumn = 25;

// Puts `text` after `first`, wrapped, with all lines after the first indented.
std::string wrapped(std::string first, std::string_view text, std::size_t indent) {
  std::string result = std::move(first);
  std::size_t column = result.size();
  if (column != 0 && column >= indent) {
    result += '\n';
    column = 0;
  }
  if (column < indent) result.append(indent - column, ' ');
  column = indent;
  bool is_first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!is_first && column + 1 + word.size() > kColumns) {
      result += '\n';
      result.append(indent, ' ');
      column = indent;
      is_first = true;
    }
    if (!is_first) result += ' ';
    column += word.size() + (is_first ? 0 : 1);
    result += word;
    is_first = false;
  }
  return result + '\n';
}

std::string option_line(const OptionRow& row) {
  const std::string synopsis =
      fmt::format("  {}{}", row.letter == 0 ? "    " : "", option_synopsis(row));
  const std::string text = row.help == "{formats}" ? format_list() : std::string(row.help);
  return wrapped(synopsis, text, kHelpColumn);
}

std::string usage_of(const ReportRow& row) {
  std::string text(row.name);
  if (!row.argument.empty()) text.append(" ").append(row.argument);
  if (!row.source.empty()) text.append(" ").append(row.source);
  return text;
}

constexpr std::string_view kSourceText =
    "SOURCE is the pid of a process that uses the Boehm collector, malloc of glibc or musl, or "
    "Ruby. The process is frozen while its heap is copied, and resumes before the copy is "
    "analysed. Only "
    "--snapshot clone and auto, --call, --inject, --ruby, --trace and heap reports on Ruby "
    "processes write to the process; all of them clean up afterwards. SOURCE can also be a file, "
    "plain or gzipped (./4711 if its name is a number; "
    "- for standard input): a saved snapshot, a core file (from gcore or the kernel), or a GCGRPH "
    "or GCFULL dump of a Crystal program (--type-info supplies its type names).";

std::string exit_statuses() {
  std::string text;
  for (const StatusText& row : kStatusTexts) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", static_cast<int>(row.status), row.brief);
  }
  return text;
}

std::string all_help() {
  std::string text = "Usage: heapattach [REPORT] [options] SOURCE\n\nReports:\n";
  for (const ReportRow& row : report_rows()) {
    if (!row.name.empty()) text += wrapped("  " + usage_of(row), row.help, 30);
  }
  text += "\n";
  text += wrapped("",
                  "Each report is also an option (--count 4711); the option for retained is "
                  "--sizes. Without a report, heapattach writes a snapshot.",
                  0);
  text += "\n" + wrapped("", kSourceText, 0);
  OptionGroup group = OptionGroup::General;
  bool is_first = true;
  for (const OptionRow& row : option_rows()) {
    if (is_first || row.group != group) text += fmt::format("\n{}:\n", title_of(row.group));
    group = row.group;
    is_first = false;
    text += option_line(row);
  }
  text += "\n" + wrapped("Exit status:", exit_statuses() + ".", 13);
  return text + "\nFor one report, with examples: heapattach help NAME\n";
}

// The options that only some reports have.
std::vector<std::string_view> own_options(Report report) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : option_rows()) {
    if (!row.reports.are_all() && row.reports.contains(report)) names.push_back(row.name);
  }
  return names;
}

std::string help_about(const ReportRow& row) {
  std::string text = fmt::format("Usage: heapattach {}\n", usage_of(row));
  if (!option_of(row).empty()) {
    text += fmt::format("   or: heapattach --{}{}\n", option_of(row),
                        usage_of(row).substr(row.name.size()));
  }
  std::string what(row.help);
  what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
  text += "\n" + wrapped("", fmt::format("{}. {}", what, row.more), 0) + "\n";
  const auto own = own_options(row.report);
  if (!own.empty()) {
    text += wrapped("Options:", fmt::format("--{}", fmt::join(own, ", --")), 10);
  }
  const auto formats = names_of(formats_of(row));
  if (!formats.empty()) {
    text += wrapped("Formats:", fmt::format("{}", fmt::join(formats, ", ")), 10);
  }
  text += "\n";
  for (const std::string_view example : row.examples) {
    text += fmt::format("  heapattach {}\n", example);
  }
  return text + "\nAll options: heapattach help all\n";
}

constexpr std::string_view kShortHelp =
    R"(Usage: heapattach [REPORT] [options] PID    (`heapattach list` shows the pids)

  heapattach diagnose 4711           what is wrong: hung, leaking, or healthy?
  heapattach count 4711              objects and bytes per type
  heapattach retained 4711           objects, bytes and retained bytes per type
  heapattach suspects 4711           the few objects that keep most memory alive
  heapattach why Session 4711        what keeps objects of a type alive
  heapattach stacks 4711             what threads and fibers are waiting for
  heapattach leaks 4711              malloc's memory that nothing references
  heapattach trace 4711              record for 30 s which code allocates what
  heapattach check 4711              check permission and estimate the pause
  heapattach -o heap.jsonl.gz 4711   save a snapshot, to use in place of 4711
  heapattach diff heap.jsonl.gz 4711 what grew since then
  heapattach -o heap.html 4711       a page for a browser

  -o, --output FILE      write to FILE; the extension selects the format
  -f, --format NAME      table, json, ...; for snapshots jsonl, html, pprof, ...
      --top N, --type GLOB, --min-bytes N, --sort KEY   choose table rows
      --all, --values    also show unreachable objects; field values
      --snapshot MODE    freeze (default), clone, auto or read
      --max-pause MS     give up rather than stop the process for longer
  -q, --quiet; -v, --verbose; -V, --version

For one report: heapattach help count. For everything: heapattach help all
)";

Error no_help_about(std::string_view topic) {
  std::vector<std::string_view> names{"all", "man", "bash", "zsh", "fish"};
  for (const ReportRow& row : report_rows()) {
    if (!row.name.empty()) names.push_back(row.name);
  }
  return usage(fmt::format("there is no help for '{}'{}", topic, did_you_mean(topic, names)));
}

}  // namespace

std::string option_synopsis(const OptionRow& row) {
  std::string text;
  if (row.letter != 0) text = fmt::format("-{}, ", row.letter);
  text += fmt::format("--{}", row.name);
  if (row.argument.empty()) return text;
  const bool is_joined = row.argument.starts_with("[=");
  return fmt::format("{}{}{}", text, is_joined ? "" : " ", row.argument);
}

std::string format_list() {
  const auto of_snapshots = formats_of(row_of(Report::Snapshot));
  const auto others = formats_of(row_of(Report::Summary));
  // HPROF is the last of them.
  std::string text =
      fmt::format("for a snapshot: {} (best effort)", fmt::join(names_of(of_snapshots), ", "));
  std::vector<std::vector<const Format*>> listed{{}, of_snapshots, others};
  for (const ReportRow& row : report_rows()) {
    const auto formats = formats_of(row);
    if (std::find(listed.begin(), listed.end(), formats) != listed.end()) continue;
    listed.push_back(formats);
    const bool is_of_counts = row.report == Report::Count;
    text += fmt::format("; for {}: {}", is_of_counts ? "counts" : shown_name(row),
                        fmt::join(names_of(formats), ", "));
  }
  return text + "; for other reports: table, json";
}

Result<std::string> help_text(std::string_view topic) {
  const std::string_view name = topic.substr(topic.starts_with("--") ? 2 : 0);
  if (topic.empty()) return std::string(kShortHelp);
  if (topic == "all") return all_help();
  if (topic == "man") return man_options();
  if (topic == "bash" || topic == "zsh" || topic == "fish") return completions(topic);
  if (const ReportRow* row = find_report(name)) return help_about(*row);
  if (const OptionRow* row = find_option(name)) return option_line(*row);
  return no_help_about(topic);
}

}  // namespace heapattach
