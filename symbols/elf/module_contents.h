#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symbols/elf/elf_file.h"
#include "symbols/elf/module.h"

namespace heapattach {

// What a Module holds. Filled by whoever finds its file (load_modules.cpp, Module::from_file); what
// is mutable is read from the files when first asked for.
struct Module::Contents {
  std::string path;
  std::string name;
  std::string build_id;
  bool is_main_program = false;
  std::uint64_t bias = 0;
  std::vector<Segment> segments;  // sorted by address
  std::optional<Range> relro;
  std::optional<ElfFile> file;        // none: listed only
  std::optional<ElfFile> debug_file;  // only if the file has no .symtab of its own
  std::string debug_path;             // of that; empty if there is none
  std::vector<Companion> companions;  // of whichever of both has the debug information
  std::vector<std::string> notes;

  struct SegmentBytes {
    Range range;  // of the file part, in the target
    std::uint64_t file_offset = 0;
    std::optional<std::vector<std::byte>> bytes;  // once asked for
  };
  mutable std::vector<SegmentBytes> file_parts;
  mutable FileShare share;                             // for those bytes
  mutable std::optional<std::vector<Symbol>> symbols;  // once asked for

  // Takes over a file and what its headers say, for a module loaded at `bias`.
  void adopt(ElfFile elf, std::uint64_t bias_in_target);
};

// Where separate debug files of one module may be, best first.
struct DebugCandidate {
  std::string path;
  bool in_target = false;            // below the target's root rather than ours
  std::optional<std::uint32_t> crc;  // to be checked where no build id tells
};
[[nodiscard]] std::vector<DebugCandidate> debug_candidates(const ElfFile& elf,
                                                           const std::string& path,
                                                           const SymbolSearch& search);

// Whether `debug` belongs to the file with this build id, or failing one to this checksum. On
// mismatch the error says what differs.
Result<void> check_debug_file(const ElfFile& debug,
                              const std::string& build_id,
                              std::optional<std::uint32_t> crc);

}  // namespace heapattach
