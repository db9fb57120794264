#include "report/cli/explain_options.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/cli/fail_if.h"

namespace heapattach {

namespace {

Error usage(std::string message) {
  return {ErrorKind::Usage, std::move(message)};
}

Result<std::size_t> read_count(std::string_view option, const std::string& text) {
  const auto count = parse_size(text);
  if (!count) return usage(fmt::format("{} {}: not a number", option, text));
  return static_cast<std::size_t>(*count);
}

}  // namespace

Result<ExplainOptions> read_explain_options(const RawExplainOptions& raw) {
  ExplainOptions options;
  options.what = raw.why.empty() ? raw.graph : raw.why;
  const bool has_ways = !raw.why.empty();
  if (!has_ways && !raw.paths.empty()) return usage("--paths: only --why has paths");
  if (!has_ways && !raw.excluded.empty()) return usage("--exclude: only --why leaves pointers out");
  const bool has_limits = !raw.levels.empty() || !raw.objects.empty();
  if (raw.graph.empty() && has_limits) return usage("--levels and --objects are for --graph");
  if (!raw.paths.empty()) {
    options.paths = HA_TRY(read_count("--paths", raw.paths));
    if (options.paths == 0) return usage("--paths 0: not a number above 0");
  }
  if (!raw.levels.empty()) options.levels = HA_TRY(read_count("--levels", raw.levels));
  if (!raw.objects.empty()) options.objects = HA_TRY(read_count("--objects", raw.objects));
  for (const std::string& text : raw.excluded) {
    options.exclusions.push_back(HA_TRY(analyze::parse_exclusion(text)));
  }
  return options;
}

}  // namespace heapattach
