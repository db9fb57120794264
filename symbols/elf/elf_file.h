#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/fd.h"
#include "symbols/elf/file_share.h"

struct Elf;

namespace heapattach {

// A loadable piece of an ELF file, with its numbers checked: neither the file part nor the memory
// part wraps, and the file part lies within the file.
struct LoadSegment {
  std::uint64_t address = 0;  // as linked
  std::uint64_t memory_bytes = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_bytes = 0;
  bool writable = false;
  bool executable = false;
};

// A symbol as the file has it; `name` lives as long as the ElfFile.
struct ElfSymbol {
  std::string_view name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool is_function = false;
  bool is_resolver = false;  // STT_GNU_IFUNC: what it returns is the function
};

// Names the separate debug file of a stripped one: .gnu_debuglink.
struct DebugLink {
  std::string file;
  std::uint32_t crc = 0;
};

// One x86-64 ELF file that nobody vouches for. Only its headers are read at first; everything is
// read with pread, never mapped, so that a file that shrinks meanwhile gives errors and no SIGBUS.
class ElfFile {
 public:
  // Malformed if it is no ELF file, Unsupported if it is one for another machine.
  static Result<ElfFile> open(Fd file);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ElfFile(ElfFile&&) noexcept;
  ElfFile& operator=(ElfFile&&) noexcept;

  [[nodiscard]] const std::vector<LoadSegment>& segments() const { return segments_; }
  // PT_GNU_RELRO: address and size.
  [[nodiscard]] std::optional<LoadSegment> relro() const { return relro_; }
  [[nodiscard]] std::optional<LoadSegment> notes() const { return notes_; }
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  [[nodiscard]] bool has_section(std::string_view name) const;
  [[nodiscard]] std::optional<DebugLink> debug_link() const;

  // The defined functions and objects of .symtab and .dynsym, in file order and with doubles, whose
  // names begin with `prefix`. Names of more than 16 KiB are left out, and what follows where the
  // names are longer, all in all, than their table allows for.
  [[nodiscard]] std::vector<ElfSymbol> symbols(std::string_view prefix) const;

  // Why symbols() has none although the file says that it has some; empty if it has them.
  [[nodiscard]] const std::string& symbols_problem() const { return symbols_problem_; }

  // Reads up to `into.size()` bytes; what the file does not have is left out.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const;
  [[nodiscard]] const Fd& file() const { return file_; }

 private:
  struct EndElf {
    void operator()(Elf* elf) const noexcept;
  };
  ElfFile(Fd file, std::unique_ptr<Elf, EndElf> elf) noexcept;
  Result<void> read_headers();
  void read_program_headers();
  void read_build_id();
  void check_symbol_tables();

  Fd file_;
  std::unique_ptr<Elf, EndElf> elf_;  // reads through file_
  std::uint64_t size_ = 0;
  std::vector<LoadSegment> segments_;
  std::optional<LoadSegment> relro_;
  std::optional<LoadSegment> notes_;  // the note segment with the build id, or the first one
  std::string build_id_;
  std::string symbols_problem_;
  FileShare share_;  // for its symbols
};

// The GNU build id among ELF notes, as lower-case hex; empty if there is none.
[[nodiscard]] std::string build_id_in_notes(std::span<const std::byte> notes);

// The checksum that .gnu_debuglink carries, of a whole file.
Result<std::uint32_t> debug_link_crc(const Fd& file);

}  // namespace heapattach
