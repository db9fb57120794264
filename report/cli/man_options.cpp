// The lists of reports, options and exit statuses of the man page, in roff.

#include <fmt/format.h>

#include "report/cli/help.h"
#include "report/cli/report_table.h"
#include "report/exit_status.h"

namespace heapattach {

namespace {

// A line that begins with a dot or an apostrophe would be a request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else if (letter == '"') {
      result += "\\(dq";
    } else {
      result += letter;
    }
  }
  const bool is_request = !result.empty() && (result.front() == '.' || result.front() == '\'');
  return is_request ? "\\&" + result : result;
}

std::string reports() {
  std::string text = ".SH REPORTS\n";
  for (const ReportRow& row : report_rows()) {
    if (row.name.empty()) continue;
    text += fmt::format(".TP\n.BI {} \" {}{}{}\"\n", roff(row.name), roff(row.argument),
                        row.argument.empty() ? "" : " ", roff(row.source));
    if (!option_of(row).empty()) text += fmt::format("(\\-\\-{}) ", roff(option_of(row)));
    text += roff(row.help) + ".\n";
    if (!row.more.empty()) text += roff(row.more) + "\n";
  }
  return text;
}

std::string options() {
  std::string text = ".SH OPTIONS\n";
  OptionGroup group = OptionGroup::Source;
  text += fmt::format(".SS {}\n", title_of(group));
  for (const OptionRow& row : option_rows()) {
    if (row.group != group) text += fmt::format(".SS {}\n", title_of(row.group));
    group = row.group;
    const std::string help = row.help == "{formats}" ? format_list() : std::string(row.help);
    text += fmt::format(".TP\n.B {}\n{}.\n", roff(option_synopsis(row)), roff(help));
    if (!row.man.empty()) text += roff(row.man) + "\n";
  }
  return text;
}

std::string exit_statuses() {
  std::string text = ".SH EXIT STATUS\n";
  for (const StatusText& row : kStatusTexts) {
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(row.status), roff(row.text));
  }
  return text;
}

}  // namespace

std::string man_options() {
  return reports() + options() + exit_statuses();
}

}  // namespace heapattach
