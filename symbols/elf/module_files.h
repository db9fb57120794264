#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/fd.h"
#include "attach/process/memory_map.h"
#include "attach/process/process.h"
#include "symbols/elf/module.h"

// Finds and opens the files of a target's modules.
namespace heapattach {

// The mappings of one file at one load address, lowest first.
using MappedFile = std::vector<const Mapping*>;

// Files with code in them. A file that is only mapped for reading (fonts, locales, an ELF file that
// some tool inspects) is not a module.
[[nodiscard]] std::vector<MappedFile> mapped_code_files(const MemoryMap& map);

// Signs that distinguish the program from its libraries.
struct ProgramSigns {
  std::string auxv;  // locates its headers; without it the path decides
  std::string path;
};

// Opens files of one target, and nothing but regular files.
class ModuleFiles {
 public:
  // Without a process, files are found only by their paths.
  ModuleFiles(const Process* process, const ProgramSigns& signs, const SymbolSearch& search);

  [[nodiscard]] bool is_main_program(const MappedFile& mapped) const;

  struct Opened {
    Fd file;
    // Found by its path, where another file than the mapped one is now.
    bool is_other = false;
  };
  // In the way that is least likely to find another file.
  [[nodiscard]] Result<Opened> open(const MappedFile& mapped) const;
  // By a path below the target's root.
  [[nodiscard]] Result<Fd> open_in_root(const std::string& path) const;

 private:
  void find_program_headers(const std::string& auxv);
  [[nodiscard]] Result<Fd> open_mapped(const std::string& link) const;

  const Process* process_;  // null for a core file
  const SymbolSearch& search_;
  Fd root_;  // empty if it could not be opened
  std::optional<RemoteAddr> program_headers_;
  std::string exe_path_;
};

}  // namespace heapattach
