#include "report/collect/core_warnings.h"

#include <fmt/format.h>

namespace heapattach::snapshot {

std::vector<std::string> warnings_of(const CoreFile& core, const Modules& modules) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> warnings;
  if (core.missing_bytes() > 0) warnings.push_back(cut_core(core));
  if (modules.all().empty()) {
    warnings.push_back("it does not list the program and libraries that were mapped");
  }
  std::size_t unused = 0;
  for (const Module& module : modules.all()) {
    if (!module.file().empty()) continue;
    if (++unused > kShown) continue;
    const auto& notes = module.notes();
    warnings.push_back(fmt::format("{}: {}; use {} to name the right one", module.path(),
                                   notes.empty() ? "no symbols" : notes.front(),
                                   module.is_main_program() ? "--exe FILE" : "--sysroot DIR"));
  }
  if (unused > kShown) {
    warnings.push_back(fmt::format("{} more files could not be used", unused - kShown));
  }
  return warnings;
}

std::string cut_core(const CoreFile& core) {
  return fmt::format("the core file is cut off: {} bytes of the process's memory are missing",
                     core.missing_bytes());
}

}  // namespace heapattach::snapshot
