#include "report/cli/file_kind.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/core_file.h"
#include "attach/open_file.h"

namespace heapattach {

namespace {

// Whether something is looked at that has memory and files: a process or a core file.
bool has_process(const Options& options) {
  if (options.compared.empty()) return options.file.empty() || is_elf_file(options.file);
  return std::any_of(options.compared.begin(), options.compared.end(), [](const Source& source) {
    return source.file.empty() || is_elf_file(source.file);
  });
}

}  // namespace

bool is_elf_file(const std::string& name) {
  const auto file = open_regular(name);
  std::array<char, 4> magic{};
  if (!file || ::pread(file->get(), magic.data(), magic.size(), 0) < 4) return false;
  return CoreFile::may_begin({magic.data(), magic.size()});
}

std::optional<std::string> refuse_for_file_kind(const Options& options) {
  if (has_process(options)) {
    const bool is_all = options.exporter != nullptr && options.exporter->name == "gcfull";
    if (!is_all || options.value_bytes > 0) return std::nullopt;
    return "-f gcfull writes all bytes of the heap, secrets with them: it wants --values too";
  }
  const std::array<std::pair<std::string_view, bool>, 6> given{{
      {"--stacks", options.report == Report::Stacks},
      {"--all", options.all},
      {"--values", options.value_bytes != 0 && options.report != Report::Strings},
      {"--exe", !options.exe.empty()},
      {"--debug-dir", !options.debug_dirs.empty()},
      {"--sysroot", !options.sysroot.empty()},
  }};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return fmt::format("{} is for processes and core files: another file has what it has", option);
  }
  return std::nullopt;
}

}  // namespace heapattach
