#include "report/cli/file_kind.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/core/core_file.h"
#include "attach/sandbox/open_file.h"
#include "report/cli/draft.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

// Whether the source has memory and files: a process or a core file.
bool has_process(const Options& options) {
  if (options.compared.empty()) return options.file.empty() || is_elf_file(options.file);
  return std::any_of(options.compared.begin(), options.compared.end(), [](const Source& source) {
    return source.file.empty() || is_elf_file(source.file);
  });
}

// A word that is neither a report nor a file: a mistyped report, or the name of a process.
Result<void> refuse_missing_file(const Options& options) {
  const std::string& word = options.file;
  const bool is_path = word.find_first_of("./") != std::string::npos;
  struct stat status {};
  if (word.empty() || is_path || ::stat(word.c_str(), &status) == 0 || errno != ENOENT) return {};
  const std::string meant = did_you_mean(word, subcommands());
  Error error = usage(fmt::format("'{}' is not a process id, a report or a file{}", word, meant));
  if (!meant.empty()) return error;
  return std::move(error).advise(
      fmt::format("--name '{}', which finds a process with that name", word));
}

}  // namespace

bool is_elf_file(const std::string& name) {
  const auto file = open_regular(name);
  std::array<char, 4> magic{};
  if (!file || ::pread(file->get(), magic.data(), magic.size(), 0) < 4) return false;
  return CoreFile::may_begin({magic.data(), magic.size()});
}

Result<void> refuse_for_file_kind(const Options& options) {
  if (has_process(options)) {
    const bool is_all = options.format->needs == ExportNeeds::Contents;
    if (!is_all || options.value_bytes > 0) return {};
    return refuse_all_bytes();
  }
  HA_TRY(refuse_missing_file(options));
  constexpr std::string_view kRefusal = "needs a process or a core file, not a saved snapshot";
  const ReportRow& report = row_of(options.report);
  if (report.needs == Needs::ProcessOrCore) {
    return usage(fmt::format("{} {}", shown_name(report), kRefusal));
  }
  for (const OptionRow* row : options.given) {
    // Texts from a file are shown up to the length that --values gives.
    const bool is_length = options.report == Report::Strings && row->name == "values";
    if (row->needs == Needs::ProcessOrCore && !is_length) {
      return usage(fmt::format("--{} {}", row->name, kRefusal));
    }
  }
  return {};
}

}  // namespace heapattach
