#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/cli/help.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

// The arguments, split up: values are not parsed yet.
struct Words {
  struct Given {
    const OptionRow* row = nullptr;
    std::string value;
  };
  std::vector<Given> options;
  std::vector<std::string> others;
  std::vector<std::string> last;  // after "--"
  const ReportRow* report = nullptr;
  std::string report_argument;
  bool is_subcommand = false;
  bool has_program = false;  // `last` is one to start
};

bool takes_optional_value(const OptionRow& row) {
  return row.argument.starts_with("[=");
}

std::string unknown_option(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : option_rows()) names.push_back(row.name);
  for (const ReportRow& row : report_rows()) {
    if (!option_of(row).empty()) names.push_back(option_of(row));
  }
  return fmt::format("there is no option --{}{}", name, did_you_mean(name, names, "--"));
}

Error comes_alone(std::string_view shown, const OptionRow& row) {
  return usage(fmt::format("{} cannot be combined with other options", shown))
      .advise(fmt::format("heapattach --{}", row.name));
}

class Parser {
 public:
  explicit Parser(std::span<const char* const> arguments) : left_(arguments) {}

  Result<Words> parse() && {
    while (!left_.empty()) {
      const std::string_view word = next();
      if (word == "--") {
        while (!left_.empty()) words_.last.emplace_back(next());
      } else if (word.starts_with("--")) {
        HA_TRY(take_long(word.substr(2)));
      } else if (word.size() > 1 && word.starts_with('-')) {
        HA_TRY(take_letters(word.substr(1)));
      } else {
        words_.others.emplace_back(word);
      }
    }
    take_subcommand();
    // Otherwise they are sources, whatever they look like.
    words_.has_program = is_program_last();
    if (words_.has_program) return std::move(words_);
    words_.others.insert(words_.others.end(), words_.last.begin(), words_.last.end());
    take_subcommand();
    return std::move(words_);
  }

 private:
  std::string_view next() {
    const std::string_view word = left_.front();
    left_ = left_.subspan(1);
    return word;
  }

  // The value that follows "--name".
  Result<std::string> next_value(std::string_view name, std::string_view argument) {
    if (left_.empty() || std::string_view(left_.front()).starts_with("--")) {
      return usage(fmt::format("{} needs a value", name))
          .advise(fmt::format("{}={}", name, argument));
    }
    return std::string(next());
  }

  Result<void> take_long(std::string_view text) {
    const std::string_view name = text.substr(0, text.find('='));
    std::optional<std::string> value;
    if (name.size() < text.size()) value = std::string(text.substr(name.size() + 1));
    if (value && value->empty()) return usage(fmt::format("--{}: empty value", name));
    const std::string shown = fmt::format("--{}", name);
    if (const OptionRow* row = find_option(name)) return take(*row, shown, std::move(value));
    if (name == "trace" && is_with_trace()) {
      return take(*find_option("with-trace"), shown, std::move(value));
    }
    const ReportRow* report = find_report_option(name);
    if (report == nullptr) return usage(unknown_option(name));
    if (value && report->argument.empty()) return usage(fmt::format("{} takes no value", shown));
    HA_TRY(choose_report(*report));
    if (report->argument.empty()) return {};
    words_.report_argument = value ? *value : HA_TRY(next_value(shown, report->argument));
    if (words_.report_argument.empty()) return usage(fmt::format("{}: empty value", shown));
    return {};
  }

  // "-zq", "-fjson" or "-f json".
  Result<void> take_letters(std::string_view letters) {
    while (!letters.empty()) {
      const char letter = letters.front();
      letters.remove_prefix(1);
      const std::string shown = fmt::format("-{}", letter);
      const OptionRow* row = find_option(letter);
      if (row == nullptr) return usage(fmt::format("there is no option {}", shown));
      std::optional<std::string> value;
      if (!row->argument.empty() && !letters.empty()) {
        value = std::string(letters.substr(letters.front() == '=' ? 1 : 0));
        letters = {};
      }
      HA_TRY(take(*row, shown, std::move(value)));
    }
    return {};
  }

  Result<void> take(const OptionRow& row,
                    std::string_view shown,
                    std::optional<std::string> value) {
    if (row.read == nullptr) return comes_alone(shown, row);
    if (row.argument.empty() && value) return usage(fmt::format("{} takes no value", shown));
    const bool needs_value = !row.argument.empty() && !takes_optional_value(row);
    if (needs_value && !value) value = HA_TRY(next_value(shown, row.argument));
    if (needs_value && value->empty()) return usage(fmt::format("{}: empty value", shown));
    const bool is_twice = std::any_of(words_.options.begin(), words_.options.end(),
                                      [&](const auto& given) { return given.row == &row; });
    if (needs_value && is_twice && !row.may_repeat) {
      return usage(fmt::format("{} was given twice", shown));
    }
    words_.options.push_back({&row, value.value_or("")});
    return {};
  }

  // Whether a report that can have a trace beside it was asked for before this word: then --trace
  // is not the report of this name.
  [[nodiscard]] bool is_with_trace() const {
    const ReportRow* report = words_.report;
    if (report == nullptr && !words_.others.empty()) report = find_report(words_.others.front());
    return report != nullptr && find_option("with-trace")->reports.contains(report->report);
  }

  Result<void> choose_report(const ReportRow& row) {
    if (words_.report != nullptr && words_.report != &row) {
      return usage(fmt::format("--{} and --{}: one report at a time", option_of(*words_.report),
                               option_of(row)));
    }
    words_.report = &row;
    return {};
  }

  // Whether the words after "--" are a program to start.
  [[nodiscard]] bool is_program_last() const {
    if (words_.report == nullptr) return false;
    return words_.report->report == Report::Trace ||
           std::any_of(words_.options.begin(), words_.options.end(),
                       [](const auto& given) { return given.row->name == "at-exit"; });
  }

  // `count 4711`; a file of such a name is ./count.
  void take_subcommand() {
    if (words_.report != nullptr || words_.others.empty()) return;
    words_.report = find_report(words_.others.front());
    if (words_.report == nullptr) return;
    words_.is_subcommand = true;
    words_.others.erase(words_.others.begin());
  }

  std::span<const char* const> left_;
  Words words_;
};

// "--count, --sizes and --diff", or nothing if there are many.
std::string listed(Reports reports) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const ReportRow& row : report_rows()) {
    std::string name = shown_name(row);
    const bool is_listed = std::find(names.begin(), names.end(), name) != names.end();
    if (reports.contains(row.report) && !is_listed) names.push_back(std::move(name));
  }
  if (names.size() == 1) return names.front();
  if (names.size() > kMost) return {};
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

Error not_for(const OptionRow& row, const ReportRow& report) {
  const std::string others = listed(row.reports);
  if (others.empty()) return usage(fmt::format("--{} is not for {}", row.name, shown_name(report)));
  return usage(fmt::format("--{} is for {}, not for {}", row.name, others, shown_name(report)));
}

std::string shown_with_value(const OptionRow& row, const std::string& value) {
  if (value.empty()) return fmt::format("--{}", row.name);
  return fmt::format("--{}{}{}", row.name, takes_optional_value(row) ? "=" : " ", value);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The argument of a subcommand before its source. `watch 4711` has a default interval, and so has
// `watch --when … 4711 4712`, where a number without a unit is a process like those after it.
Result<std::string> take_argument(const ReportRow& row, const Words& words, Draft& draft) {
  const bool waits = !draft.options.when.conditions.empty();
  const std::string_view usual = waits ? "250ms" : "10s";
  if (!words.is_subcommand) return words.report_argument;
  const bool is_elsewhere = std::any_of(words.options.begin(), words.options.end(), [](auto& one) {
    return one.row->group == OptionGroup::Source;
  });
  const std::size_t wanted = is_elsewhere ? 1 : 2;
  const bool is_process =
      waits && !is_elsewhere && !draft.sources.empty() && is_number(draft.sources.front());
  if ((draft.sources.size() < wanted || is_process) && row.report == Report::Watch) {
    return std::string(usual);
  }
  if (draft.sources.size() < wanted) {
    return usage(fmt::format("{} needs {} and a source", row.name, row.argument))
        .advise(fmt::format("heapattach {} {} {}", row.name, row.argument, row.source));
  }
  std::string argument = std::move(draft.sources.front());
  draft.sources.erase(draft.sources.begin());
  return argument;
}

Result<void> refuse_plain_export(const Draft& draft) {
  if (draft.options.format->snapshot != nullptr) return {};
  const auto names = names_of(formats_with(writes<&Format::snapshot>));
  return usage(fmt::format("export needs a format, by -f or by the extension of -o FILE: {}",
                           fmt::join(names, ", ")));
}

bool shows_retained(Report report) {
  return report == Report::Sizes || report == Report::Diff || report == Report::Watch;
}

Result<Options> make_sense(const Words& words) {
  Draft draft;
  draft.sources = words.others;
  if (words.has_program) draft.command = words.last;
  const ReportRow& report = words.report == nullptr ? row_of(Report::Snapshot) : *words.report;
  draft.options.report = report.report;
  if (shows_retained(report.report)) draft.options.rows.sort = snapshot::SortBy::Retained;
  for (const auto& [row, value] : words.options) {
    if (!row->reports.contains(report.report)) {
      return not_for(*row, report);
    }
    const auto read = row->read(value, draft);
    if (!read) return Error(read.error()).context(shown_with_value(*row, value));
    draft.options.given.push_back(row);
  }
  if (report.read != nullptr) {
    const std::string argument = HA_TRY(take_argument(report, words, draft));
    const auto read = report.read(argument, draft);
    if (!read) return Error(read.error()).context(fmt::format("{} {}", report.name, argument));
  }
  HA_TRY(read_sources(draft, report.name));
  HA_TRY(read_format(draft));
  if (report.name == "export") HA_TRY(refuse_plain_export(draft));
  HA_TRY(refuse_contradictions(draft));
  return std::move(draft.options);
}

// Whether help or the version is requested, alone or with other words: `help count`, `count
// --help`.
struct Asked {
  bool help = false;
  bool version = false;
  bool json = false;
  std::string_view topic;
};

bool asks_for_json(std::string_view before, std::string_view word) {
  if (word == "json") return before == "-f" || before == "--format";
  return word == "--json" || word == "-fjson" || word == "--format=json";
}

// The report that the word names, or "all"; else empty.
std::string_view topic_of(std::string_view word) {
  const std::string_view name = word.substr(word.starts_with("--") ? 2 : 0);
  const bool is_topic = name == "all" ? word == name : find_report(name) != nullptr;
  return is_topic ? name : "";
}

Asked what_is_asked(std::span<const char* const> arguments) {
  Asked asked;
  if (!arguments.empty() && std::string_view(arguments.front()) == "help") {
    return {.help = true, .topic = arguments.size() > 1 ? arguments[1] : ""};
  }
  std::string_view before;
  for (const std::string_view word : arguments) {
    if (word == "--") break;
    asked.json |= asks_for_json(before, word);
    before = word;
    asked.version |= word == "--version" || word == "-V";
    asked.help |= word == "--help" || word == "-h";
    if (asked.topic.empty()) asked.topic = topic_of(word);
  }
  return asked;
}

// The report that the arguments name, even if they are invalid; empty if there is none.
std::string_view named_report(std::span<const char* const> arguments) {
  for (std::string_view word : arguments) {
    if (word == "--") break;
    if (word.starts_with("--")) word = word.substr(2, word.find('=') - 2);
    if (const ReportRow* const row = find_report(word)) return row->name;
  }
  return {};
}

}  // namespace

UsageError usage_error(const Error& error, std::string_view report) {
  UsageError wrong{error.text(), {}};
  const bool says_what_to_do = !error.advice.empty() || wrong.message.ends_with('?');
  if (says_what_to_do) return wrong;
  wrong.help = report.empty() ? "heapattach --help" : fmt::format("heapattach help {}", report);
  return wrong;
}

ParsedOptions parse_options(std::span<const char* const> arguments) {
  const Asked asked = what_is_asked(arguments);
  if (asked.help) {
    auto text = help_text(asked.topic);
    if (!text) return usage_error(text.error(), {});
    return ShowText{std::move(text).value()};
  }
  if (asked.version) {
    return ShowText{asked.json ? version_json() : fmt::format("{}\n", version_text())};
  }
  auto words = Parser(arguments).parse();
  if (!words) return usage_error(words.error(), named_report(arguments));
  auto options = make_sense(*words);
  if (!options) return usage_error(options.error(), named_report(arguments));
  return std::move(options).value();
}

}  // namespace heapattach
