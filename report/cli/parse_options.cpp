#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "report/cli/help.h"
#include "report/cli/raw_options.h"

namespace heapattach {

namespace {

void declare_options(CLI::App& app, RawOptions& raw) {
  app.set_help_flag();  // ours does not end the parsing by an exception
  app.add_option("SOURCE", raw.sources);
  app.add_option("-p,--pid", raw.pid);
  app.add_option("--tree", raw.trees)->allow_extra_args(false);
  app.add_option("--name", raw.name);
  app.add_option("-o,--output", raw.output);
  app.add_option("-f,--format", raw.format);
  app.add_option("--sort", raw.sort);
  app.add_option("--by", raw.by);
  app.add_option("--top", raw.top);
  // One value each: `--type A 4711` must leave the pid alone.
  app.add_option("--type", raw.types)->allow_extra_args(false);
  app.add_option("--fail-if", raw.fail_if)->allow_extra_args(false);
  app.add_flag("--allow-missing", raw.allow_missing);
  app.add_option("--min-bytes", raw.min_bytes);
  app.add_option("--snapshot", raw.snapshot);
  app.add_option("--max-pause", raw.max_pause);
  app.add_option("--timeout", raw.timeout);
  app.add_option("--type-info", raw.type_info);
  app.add_option("--call", raw.call);
  app.add_option("--allow-calls", raw.allow_calls);
  app.add_option("--returns", raw.returns);
  app.add_option("--thread", raw.thread);
  app.add_option("--routine", raw.routine);
  app.add_option("--library", raw.routine_library);
  app.add_option("--keep", raw.keep);
  app.add_flag("--inject", raw.inject);
  app.add_option("--redact", raw.redact);
  app.add_option("--exe", raw.exe);
  app.add_option("--debug-dir", raw.debug_dirs)->allow_extra_args(false);
  app.add_option("--sysroot", raw.sysroot);
  app.add_option("--why", raw.explain.why);
  app.add_option("--paths", raw.explain.paths);
  app.add_option("--exclude", raw.explain.excluded)->allow_extra_args(false);
  app.add_option("--graph", raw.explain.graph);
  app.add_option("--levels", raw.explain.levels);
  app.add_option("--objects", raw.explain.objects);
  app.add_flag("--suspects", raw.explain.suspects);
  app.add_option("--color,--colour", raw.colour);
  app.add_flag("-h,--help", raw.help);
  app.add_flag("--version", raw.version);
  app.add_flag("--count", raw.count);
  app.add_flag("--sizes", raw.sizes);
  app.add_flag("--check", raw.check);
  app.add_flag("--stacks", raw.stacks);
  app.add_flag("--diff", raw.diff);
  app.add_option("--watch", raw.watch);
  app.add_option("--rounds", raw.rounds);
  app.add_flag("--strings", raw.strings);
  app.add_flag("--summary", raw.summary);
  app.add_flag("--force", raw.force);
  app.add_flag("-z,--gzip", raw.gzip);
  app.add_flag("--all", raw.all);
  app.add_flag("--no-rewind", raw.no_rewind);
  app.add_flag("-q,--quiet", raw.quiet);
  app.add_flag("-v,--verbose", raw.verbose);
}

// Options whose value is never in the next argument, which may be the process: `--values 4711`.
std::vector<std::string> without_optional_values(std::span<const char* const> arguments,
                                                 RawOptions& raw) {
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 2> options{
      {{"--values", &raw.values}, {"--in-place", &raw.in_place}}};
  std::vector<std::string> others;
  for (const std::string_view argument : arguments) {
    const std::string_view name = argument.substr(0, argument.find('='));
    const auto* const option = std::find_if(options.begin(), options.end(),
                                            [&](const auto& row) { return row.first == name; });
    if (option != options.end()) {
      *option->second = argument.substr(std::min(argument.size(), name.size() + 1));
    } else {
      others.emplace_back(argument);
    }
  }
  return others;
}

ShowText help_text(std::span<const char* const> arguments) {
  const auto is_all = [](std::string_view argument) { return argument == "all"; };
  const bool wants_all = std::any_of(arguments.begin(), arguments.end(), is_all);
  return {std::string(wants_all ? kHelpText : kShortHelpText)};
}

}  // namespace

std::string_view version_text() {
  return "heapattach " HEAPATTACH_VERSION;
}

ParsedOptions parse_options(std::span<const char* const> arguments) {
  CLI::App app;
  RawOptions raw;
  declare_options(app, raw);
  try {
    std::vector<std::string> others = without_optional_values(arguments, raw);
    std::reverse(others.begin(), others.end());  // CLI11 takes the arguments from the back
    app.parse(std::move(others));
  } catch (const CLI::ParseError& error) {
    if (raw.help) return help_text(arguments);
    return UsageError{error.what()};
  }
  if (raw.help) return help_text(arguments);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) return UsageError{fmt::format("{}: empty value", option->get_name())};
    }
  }
  if (raw.version) return ShowText{fmt::format("{}\n", version_text())};
  auto options = make_sense(raw);
  if (!options) return UsageError{options.error().message};
  return std::move(options).value();
}

}  // namespace heapattach
