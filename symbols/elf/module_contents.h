#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/elf/elf_file.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The contents of a Module, filled by the code that finds its file (load_modules.cpp,
// Module::from_file). Mutable members are read from the files on first use.
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
  std::string debug_path;             // its path; empty if there is none
  std::vector<Companion> companions;  // of the file that has the debug information
  std::vector<std::string> notes;

  struct SegmentBytes {
    Range range;  // of the file part, in the target
    std::uint64_t file_offset = 0;
    std::optional<std::vector<std::byte>> bytes;  // on first use
  };
  mutable std::vector<SegmentBytes> file_parts;
  mutable FileShare share;                             // for those bytes
  mutable std::optional<std::vector<Symbol>> symbols;  // on first use

  // Takes ownership of a file and its headers, for a module loaded at `bias`.
  void adopt(ElfFile elf, std::uint64_t bias_in_target);
  // Whether Module::debug_file() has debug information, by its headers.
  [[nodiscard]] static bool has_debug_information(const Module& module);
  // Whether all symbols of the module are known, and not only the exported ones.
  [[nodiscard]] static bool has_all_symbols(const Module& module);
  // Reads the file's bytes for the memory at `at`, without keeping them. Returns how many there are
  // of as many as fit, up to the end of the file part of their segment.
  static std::size_t read_file(const Module& module, RemoteAddr at, std::span<std::byte> into);
};

// Possible paths of a module's separate debug file, best first.
struct DebugCandidate {
  std::string path;
  bool in_target = false;            // below the target's root instead of ours
  std::optional<std::uint32_t> crc;  // to be checked if there is no build id
  bool is_beside_module = false;     // not in a directory of debug files
};
[[nodiscard]] std::vector<DebugCandidate> debug_candidates(const ElfFile& elf,
                                                           const std::string& path,
                                                           const SymbolSearch& search);

// Checks that `debug` belongs to the file with this build id or, if there is none, with this
// checksum. On a mismatch, the error describes the difference.
Result<void> check_debug_file(const ElfFile& debug,
                              const std::string& build_id,
                              std::optional<std::uint32_t> crc,
                              const Deadline& deadline = {});

}  // namespace heapattach
