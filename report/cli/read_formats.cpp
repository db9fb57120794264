#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "report/cli/draft.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

// Of snapshots, besides those of exports. Many readers expect JSON Lines in a file called .json.
constexpr std::string_view kLineExtensions[] = {"jsonl", "ndjson", "json"};

bool ends_in_gz(std::string_view file) {
  return file.ends_with(".gz");
}

// The extension of the output file, without .gz; empty if the name ends in a number, or in a
// pattern for one ("heap.%p").
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

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> parts;
  while (!words.empty()) {
    const std::string_view part = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), part.size() + 1));
    parts.push_back(part);
  }
  return parts;
}

Error no_format_for(const Options& options, const std::vector<std::string_view>& extensions) {
  return usage(fmt::format("-o {}: {} not written as .{}; use .{}, or name a format with -f",
                           options.output, row_of(options.report).written,
                           extension_of(options.output), fmt::join(extensions, ", .")));
}

Error no_format(std::string_view name, const std::vector<std::string_view>& names) {
  return usage(fmt::format("--format {}: not one of {}{}", name, fmt::join(names, ", "),
                           did_you_mean(name, names)));
}

Result<void> read_snapshot_format(const std::string& name, Options& options) {
  options.exporter = find_export_format(name);
  if (options.exporter != nullptr) options.format = Format::Export;
  if (options.exporter != nullptr || name == "jsonl") return {};
  std::vector<std::string_view> names{"jsonl"};
  for (const ExportFormat& format : export_formats()) names.push_back(format.name);
  return no_format(name, names);
}

Result<void> read_format_of_snapshot_file(Options& options) {
  const std::string_view extension = extension_of(options.output);
  if (extension.empty()) return {};
  const ExportFormat* exporter = export_format_of_extension(extension);
  if (exporter == nullptr) exporter = find_export_format(extension);
  if (exporter != nullptr) {
    options.exporter = exporter;
    options.format = Format::Export;
    return {};
  }
  std::vector<std::string_view> extensions;
  for (const std::string_view known : kLineExtensions) {
    if (known == extension) return {};
    extensions.push_back(known);
  }
  for (const ExportFormat& format : export_formats()) {
    extensions.push_back(format.extension.empty() ? format.name : format.extension);
  }
  return no_format_for(options, extensions);
}

Result<Format> format_of_name(std::string_view name, std::span<const ReportFormat> formats) {
  std::vector<std::string_view> names;
  for (const ReportFormat& format : formats) {
    if (format.name == name) return format.format;
    names.push_back(format.name);
  }
  return no_format(name, names);
}

// The first is the default.
Result<Format> format_of_file(const Options& options, std::span<const ReportFormat> formats) {
  const std::string_view extension = extension_of(options.output);
  if (extension.empty()) return formats.front().format;
  std::vector<std::string_view> extensions;
  for (const ReportFormat& format : formats) {
    for (const std::string_view known : split(format.extensions)) {
      if (known == extension) return format.format;
      extensions.push_back(known);
    }
  }
  return no_format_for(options, extensions);
}

}  // namespace

Result<void> read_format(Draft& draft) {
  Options& options = draft.options;
  const ReportRow& row = row_of(options.report);
  options.with_gzip |= ends_in_gz(options.output);
  if (options.report == Report::Call || options.report == Report::Ruby || !options.keep.empty()) {
    options.format = Format::Table;
    if (draft.format.empty()) return {};
    return usage("--format: the function's output is passed on unchanged");
  }
  if (options.report == Report::Snapshot || options.report == Report::Inject) {
    options.format = Format::JsonLines;
    return draft.format.empty() ? read_format_of_snapshot_file(options)
                                : read_snapshot_format(draft.format, options);
  }
  options.format = HA_TRY(draft.format.empty() ? format_of_file(options, row.formats)
                                               : format_of_name(draft.format, row.formats));
  return {};
}

}  // namespace heapattach
