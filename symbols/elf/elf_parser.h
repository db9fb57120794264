#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/fd.h"
#include "symbols/elf/packed_symbols.h"

// Parses an ELF file with libelf. The file is untrusted, so call this only in a process without
// rights; elf_file.h runs it in a sandboxed worker.
namespace heapattach {

// A loadable segment of an ELF file. Its numbers have been checked: neither the file range nor the
// memory range wraps around, and the file range is within the file.
struct LoadSegment {
  std::uint64_t address = 0;  // as linked
  std::uint64_t memory_bytes = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_bytes = 0;
  bool writable = false;
  bool executable = false;
};

// The name of a stripped file's debug file: .gnu_debuglink.
struct DebugLink {
  std::string file;
  std::uint32_t crc = 0;
};

// The facts in an ELF file, as plain data.
struct ElfFacts {
  std::uint16_t machine = 0;          // e_machine
  std::vector<LoadSegment> segments;  // by address
  std::optional<LoadSegment> relro;   // PT_GNU_RELRO
  std::optional<LoadSegment> notes;   // the note segment with the build id, or the first one
  std::string build_id;               // lower-case hex; empty if it has none
  std::vector<std::string> sections;  // names of the sections that have bytes in the file
  std::optional<DebugLink> debug_link;
  std::string symbols_problem;    // why symbols could not be read; empty if they could, or if the
                                  // file has none
  std::uint64_t symbol_cost = 0;  // their share of a FileShare
  PackedSymbols symbols;          // of .symtab and .dynsym, in file order
};

// Malformed if it is not an ELF file, Unsupported if it is for another machine. Omits symbols if
// the FileShares of this process have no room for them.
Result<ElfFacts> parse_elf(const Fd& file, bool with_symbols);

// Reads up to `into.size()` bytes; fewer if the file ends.
[[nodiscard]] std::size_t read_file_at(const Fd& file,
                                       std::uint64_t offset,
                                       std::span<std::byte> into);

// The GNU build id among ELF notes, as lower-case hex; empty if there is none.
[[nodiscard]] std::string build_id_in_notes(std::span<const std::byte> notes);

}  // namespace heapattach
