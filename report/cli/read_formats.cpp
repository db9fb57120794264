#include <algorithm>
#include <array>
#include <cctype>
#include <span>

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
using Extension = std::pair<std::string_view, Format>;
constexpr std::array<Extension, 7> kCountExtensions{{
    {"txt", Format::Table},
    {"tsv", Format::Tsv},
    {"csv", Format::Csv},
    {"json", Format::Json},
    {"md", Format::Markdown},
    {"markdown", Format::Markdown},
    {"memprof", Format::Memprof},
}};
constexpr std::array<Extension, 2> kPlainExtensions{{
    {"txt", Format::Table},
    {"json", Format::Json},
}};
constexpr std::array<Extension, 3> kStackExtensions{{
    {"txt", Format::Table},
    {"json", Format::Json},
    {"folded", Format::Folded},
}};
constexpr std::array<Extension, 6> kGraphExtensions{{
    {"mmd", Format::Mermaid},
    {"mermaid", Format::Mermaid},
    {"txt", Format::Mermaid},
    {"dot", Format::Dot},
    {"gv", Format::Dot},
    {"json", Format::Json},
}};
constexpr std::array<Extension, 3> kGrowthExtensions{{
    {"txt", Format::Table},
    {"json", Format::Json},
    {"html", Format::Html},
}};
// Of snapshots, beside those of exports. JSON Lines in a file called .json is what many a reader of
// them expects.
constexpr std::array<Extension, 3> kLineExtensions{{
    {"jsonl", Format::JsonLines},
    {"ndjson", Format::JsonLines},
    {"json", Format::JsonLines},
}};

// The extension of the file that the output goes to, .gz aside; empty where the name ends in a
// number, or in what stands for one ("heap.%p").
std::string_view extension_of(std::string_view file) {
  if (file.starts_with("/dev/")) return {};
  if (ends_in_gz(file)) file.remove_suffix(3);
  const std::size_t dot = file.find_last_of("./");
  const bool is_there =
      dot != std::string_view::npos && file[dot] == '.' && dot != 0 && file[dot - 1] != '/';
  if (!is_there) return {};
  const std::string_view extension = file.substr(dot + 1);
  const bool has_letter = std::any_of(extension.begin(), extension.end(), [](char letter) {
    return std::isalpha(static_cast<unsigned char>(letter)) != 0;
  });
  return has_letter && extension.find('%') == std::string_view::npos ? extension
                                                                     : std::string_view{};
}

Error no_format_for(const RawOptions& raw, std::string_view report, std::string_view formats) {
  return usage(fmt::format("-o {}: {} not written as .{}; there is {}; or name a format with -f",
                           raw.output, report, extension_of(raw.output), formats));
}

// The format that the file's extension says, or the usual one, which `extensions` begin with.
Result<Format> by_extension(const RawOptions& raw,
                            std::string_view report,
                            std::span<const Extension> extensions) {
  const std::string_view extension = extension_of(raw.output);
  if (extension.empty()) return extensions.front().second;
  std::string formats;
  for (const auto& [known, format] : extensions) {
    if (known == extension) return format;
    formats += fmt::format("{}.{}", formats.empty() ? "" : ", ", known);
  }
  return no_format_for(raw, report, formats);
}

Result<void> read_snapshot_format(const std::string& name, Options& options) {
  options.exporter = find_export_format(name);
  if (options.exporter != nullptr) options.format = Format::Export;
  if (options.exporter != nullptr || name == "jsonl") return {};
  std::string names = "jsonl";
  for (const ExportFormat& format : export_formats()) names += fmt::format(", {}", format.name);
  return usage(fmt::format("--format {}: not one of {}", name, names));
}

Result<void> read_format_of_snapshot_file(const RawOptions& raw, Options& options) {
  const std::string_view extension = extension_of(raw.output);
  if (extension.empty()) return {};
  const ExportFormat* exporter = export_format_of_extension(extension);
  if (exporter == nullptr) exporter = find_export_format(extension);
  if (exporter != nullptr) {
    options.exporter = exporter;
    options.format = Format::Export;
    return {};
  }
  std::string formats;
  for (const auto& [known, format] : kLineExtensions) {
    if (known == extension) return {};
    formats += fmt::format(".{}, ", known);
  }
  for (const ExportFormat& format : export_formats()) {
    const std::string_view known = format.extension.empty() ? format.name : format.extension;
    formats += fmt::format("{}.{}", &format == &export_formats()[0] ? "" : ", ", known);
  }
  return no_format_for(raw, "a snapshot is", formats);
}

// Of a report that is neither a snapshot nor counts.
Result<Format> read_report_format(const RawOptions& raw, Report report) {
  const auto read = [&](std::string_view words, const auto& formats,
                        std::span<const Extension> extensions) -> Result<Format> {
    if (!raw.format.empty()) return choose("--format", raw.format, formats);
    return by_extension(raw, words, extensions);
  };
  switch (report) {
    case Report::Stacks: return read("stacks are", kStackFormats, kStackExtensions);
    case Report::Graph: return read("a graph is", kGraphFormats, kGraphExtensions);
    case Report::Diff: return read("a difference is", kGrowthFormats, kGrowthExtensions);
    default: return read("this report is", kPlainFormats, kPlainExtensions);
  }
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
  if (is_snapshot) {
    options.format = Format::JsonLines;
    return raw.format.empty() ? read_format_of_snapshot_file(raw, options)
                              : read_snapshot_format(raw.format, options);
  }
  options.format = HA_TRY(raw.format.empty() ? by_extension(raw, "counts are", kCountExtensions)
                                             : choose("--format", raw.format, kCountFormats));
  return {};
}

}  // namespace heapattach
