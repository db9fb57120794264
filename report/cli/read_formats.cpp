#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "report/cli/draft.h"
#include "report/cli/output_name.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

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

bool is_of_snapshot(const ReportRow& row) {
  return row.report == Report::Snapshot || row.report == Report::Inject;
}

Result<const Format*> format_of_name(std::string_view name, const ReportRow& row) {
  if (const Format* const format = find_format(name, row.writers)) return format;
  const auto names = names_of(formats_of(row));
  return usage(fmt::format("--format {}: not one of {}{}", name, fmt::join(names, ", "),
                           did_you_mean(name, names)));
}

Result<const Format*> format_of_file(const Options& options, const ReportRow& row) {
  const std::string_view extension = extension_of(options.output);
  if (extension.empty()) return formats_of(row).front();
  std::vector<std::string_view> extensions;
  for (const Format* const format : formats_of(row)) {
    for (const std::string_view known : split(format->extensions)) {
      if (known == extension) return format;
      const bool is_new =
          std::find(extensions.begin(), extensions.end(), known) == extensions.end();
      if (is_new) extensions.push_back(known);
    }
  }
  // The file of a snapshot may be called by its format, such as heap.pprof.
  const Format* const named = find_format(extension, row.writers);
  if (named != nullptr && named->snapshot != nullptr && is_of_snapshot(row)) return named;
  return usage(fmt::format("-o {}: {} not written as .{}; use .{}, or name a format with -f",
                           options.output, row.written, extension, fmt::join(extensions, ", .")));
}

// Only some formats can have the reports on several processes in one file.
Result<void> refuse_one_file(const Options& options) {
  const bool may_be_several = options.pids.size() > 1 || options.tree || !options.name.empty();
  const bool has_one = may_be_several && !options.output.empty() && !has_file_for_each(options);
  if (!has_one || options.format->join != nullptr) return {};
  return usage("several processes need a file each").advise("-o NAME.%p, which adds the pid");
}

}  // namespace

Result<void> read_format(Draft& draft) {
  Options& options = draft.options;
  const ReportRow& row = row_of(options.report);
  options.with_gzip |= ends_in_gz(options.output);
  if (!options.when.conditions.empty()) {  // -o is a directory
    options.format = formats_of(row).front();
    return draft.format.empty() ? Result<void>()
                                : usage("--format: --when saves snapshots as JSON Lines");
  }
  const bool is_passed_on = row.writers == nullptr || !options.keep.empty();
  if (is_passed_on && !draft.format.empty()) {
    return usage("--format: the function's output is passed on unchanged");
  }
  if (is_passed_on) {
    options.format = find_format("table");
  } else {
    options.format = HA_TRY(draft.format.empty() ? format_of_file(options, row)
                                                 : format_of_name(draft.format, row));
  }
  return refuse_one_file(options);
}

}  // namespace heapattach
