#include <algorithm>
#include <array>

#include "report/cli/raw_options.h"

namespace heapattach {

namespace {

constexpr std::array<std::pair<std::string_view, Format>, 6> kCountFormats{{
    {"table", Format::Table},
    {"tsv", Format::Tsv},
    {"csv", Format::Csv},
    {"json", Format::Json},
    {"markdown", Format::Markdown},
    {"memprof", Format::Memprof},
}};
constexpr std::array<std::pair<std::string_view, Format>, 2> kPlainFormats{{
    {"table", Format::Table},
    {"json", Format::Json},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kStackFormats{{
    {"table", Format::Table},
    {"json", Format::Json},
    {"folded", Format::Folded},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kGraphFormats{{
    {"mermaid", Format::Mermaid},
    {"dot", Format::Dot},
    {"json", Format::Json},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kGrowthFormats{{
    {"table", Format::Table},
    {"json", Format::Json},
    {"html", Format::Html},
}};
constexpr std::array<std::pair<std::string_view, Format>, 9> kExtensions{{
    {"txt", Format::Table},
    {"tsv", Format::Tsv},
    {"csv", Format::Csv},
    {"json", Format::Json},
    {"md", Format::Markdown},
    {"markdown", Format::Markdown},
    {"memprof", Format::Memprof},
    {"jsonl", Format::JsonLines},
    {"ndjson", Format::JsonLines},
}};
Result<Format> read_stack_format(const RawOptions& raw) {
  if (!raw.format.empty()) return choose("--format", raw.format, kStackFormats);
  std::string_view file = raw.output;
  if (ends_in_gz(file)) file.remove_suffix(3);
  if (file.ends_with(".json")) return Format::Json;
  return file.ends_with(".folded") ? Format::Folded : Format::Table;
}

Result<void> read_snapshot_format(const std::string& name, Options& options) {
  options.exporter = find_export_format(name);
  if (options.exporter != nullptr) options.format = Format::Export;
  if (options.exporter != nullptr || name == "jsonl") return {};
  std::string names = "jsonl";
  for (const ExportFormat& format : export_formats()) names += fmt::format(", {}", format.name);
  return usage(fmt::format("--format {}: not one of {}", name, names));
}

// The extension of the file that the output goes to, .gz aside.
std::string_view extension_of(std::string_view file) {
  if (ends_in_gz(file)) file.remove_suffix(3);
  const std::size_t dot = file.find_last_of("./");
  if (dot == std::string_view::npos || file[dot] == '/') return {};
  return file.substr(dot + 1);
}

Result<Format> read_graph_format(const RawOptions& raw) {
  if (!raw.format.empty()) return choose("--format", raw.format, kGraphFormats);
  const std::string_view extension = extension_of(raw.output);
  if (extension == "json") return Format::Json;
  return extension == "dot" || extension == "gv" ? Format::Dot : Format::Mermaid;
}

Result<void> read_format_of_file(const RawOptions& raw, Options& options) {
  const bool is_count = is_counts(options.report);
  const std::string_view extension = extension_of(raw.output);
  const auto no_format = [&] {
    return usage(fmt::format("-o {}: .{} is no format for {}; name one with -f", raw.output,
                             extension, is_count ? "counts" : "a snapshot"));
  };
  if (const ExportFormat* exporter = export_format_of_extension(extension)) {
    if (is_count) return no_format();
    options.exporter = exporter;
    options.format = Format::Export;
    return {};
  }
  const auto* const named = std::find_if(kExtensions.begin(), kExtensions.end(),
                                         [&](const auto& row) { return row.first == extension; });
  if (named == kExtensions.end()) return {};
  // JSON Lines in a file called .json is what many a reader of them expects.
  if (!is_count && named->second == Format::Json) return {};
  if (is_count == (named->second == Format::JsonLines)) return no_format();
  options.format = named->second;
  return {};
}

Result<Format> read_growth_format(const RawOptions& raw) {
  if (!raw.format.empty()) return choose("--format", raw.format, kGrowthFormats);
  const std::string_view extension = extension_of(raw.output);
  if (extension == "html") return Format::Html;
  return extension == "json" ? Format::Json : Format::Table;
}

// Of a report that is neither a snapshot nor counts.
Result<Format> read_report_format(const RawOptions& raw, Report report) {
  if (report == Report::Stacks) return read_stack_format(raw);
  if (report == Report::Graph) return read_graph_format(raw);
  if (report == Report::Diff) return read_growth_format(raw);
  if (!raw.format.empty()) return choose("--format", raw.format, kPlainFormats);
  return extension_of(raw.output) == "json" ? Format::Json : Format::Table;
}

}  // namespace

Result<void> read_format(const RawOptions& raw, Options& options) {
  const bool is_raw = options.report == Report::Call || !raw.keep.empty();
  const bool is_snapshot = options.report == Report::Snapshot || options.report == Report::Inject;
  if (is_raw) {
    options.format = Format::Table;
    if (raw.format.empty()) return {};
    return usage("--format: what a function writes is passed on as it is");
  }
  if (!is_snapshot && !is_counts(options.report)) {
    options.format = HA_TRY(read_report_format(raw, options.report));
    return {};
  }
  options.format = is_snapshot ? Format::JsonLines : Format::Table;
  if (raw.format.empty()) return read_format_of_file(raw, options);
  if (!is_counts(options.report)) return read_snapshot_format(raw.format, options);
  options.format = HA_TRY(choose("--format", raw.format, kCountFormats));
  return {};
}

}  // namespace heapattach
