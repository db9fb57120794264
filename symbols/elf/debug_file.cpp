#include <fmt/format.h>

#include "symbols/elf/module_contents.h"

namespace heapattach {

// The locations are those of gdb and elfutils: by build id below a debug directory, and by
// .gnu_debuglink's name next to the module, in .debug next to it, and at the module's path below a
// debug directory.
std::vector<DebugCandidate> debug_candidates(const ElfFile& elf,
                                             const std::string& path,
                                             const SymbolSearch& search) {
  std::vector<std::string> directories = search.debug_dirs;
  directories.push_back("/usr/lib/debug");
  std::vector<DebugCandidate> candidates;
  // A directory that the user names is ours; the system's is searched in the target's root first.
  const auto add = [&](const std::string& directory, const std::string& below,
                       std::optional<std::uint32_t> crc) {
    if (directory == "/usr/lib/debug") candidates.push_back({directory + below, true, crc});
    candidates.push_back({directory + below, false, crc});
  };
  if (const std::string& id = elf.build_id(); id.size() > 2) {
    const std::string below = fmt::format("/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2));
    for (const std::string& directory : directories) add(directory, below, std::nullopt);
  }
  const auto link = elf.debug_link();
  const std::size_t slash = path.rfind('/');
  // The link is a plain file name; one with a directory in it could point elsewhere.
  if (!link || slash == std::string::npos || link->file.empty() ||
      link->file.find('/') != std::string::npos) {
    return candidates;
  }
  const std::string directory = path.substr(0, slash);
  candidates.push_back({directory + "/" + link->file, true, link->crc, true});
  candidates.push_back({directory + "/.debug/" + link->file, true, link->crc, true});
  for (const std::string& debug : directories) {
    add(debug, directory + "/" + link->file, link->crc);
    if (debug != "/usr/lib/debug") add(debug, "/" + link->file, link->crc);
  }
  return candidates;
}

Result<void> check_debug_file(const ElfFile& debug,
                              const std::string& build_id,
                              std::optional<std::uint32_t> crc,
                              const Deadline& deadline) {
  if (!build_id.empty() && !debug.build_id().empty()) {
    if (build_id == debug.build_id()) return {};
    return Error{ErrorKind::Malformed, fmt::format("its build id is {}, not the module's {}",
                                                   debug.build_id(), build_id)};
  }
  if (!crc) return Error{ErrorKind::Malformed, "it has no build id to compare"};
  const std::uint32_t actual = HA_TRY(debug_link_crc(debug.file(), deadline));
  if (actual == *crc) return {};
  return Error{ErrorKind::Malformed,
               fmt::format("its checksum is {:08x}, not {:08x}", actual, *crc)};
}

}  // namespace heapattach
