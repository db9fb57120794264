#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "symbols/elf/elf_parser.h"
#include "symbols/elf/file_share.h"

namespace heapattach {

// An untrusted ELF file. A sandboxed worker reads its headers and symbols on opening and
// then exits; this class holds the worker's result, after checking it. A process that has no rights
// anyway (a worker, a confined tool) reads the file itself. Files are read with pread, never
// mapped, so that a file that shrinks gives errors instead of SIGBUS.
class ElfFile {
 public:
  enum class With : std::uint8_t { Headers, Symbols };

  // Malformed if it is not an ELF file, Unsupported if it is for another machine. Call it while
  // this process has one thread (sandbox.h).
  static Result<ElfFile> open(Fd file, With what = With::Symbols, const Deadline& deadline = {});
  // Several files of one target, with symbols, in the same order. One worker reads all of them, and
  // a file that took it over could make up what the others contain. So they must be files whose
  // authors can make up the target anyway, because their code runs in it. If the worker fails, each
  // file is read alone.
  static std::vector<Result<ElfFile>> open_all(std::vector<Fd> files,
                                               const Deadline& deadline = {});

  [[nodiscard]] std::uint16_t machine() const { return facts_.machine; }  // e_machine
  [[nodiscard]] const std::vector<LoadSegment>& segments() const { return facts_.segments; }
  // PT_GNU_RELRO: address and size.
  [[nodiscard]] std::optional<LoadSegment> relro() const { return facts_.relro; }
  [[nodiscard]] std::optional<LoadSegment> notes() const { return facts_.notes; }
  [[nodiscard]] const std::string& build_id() const { return facts_.build_id; }
  [[nodiscard]] bool has_section(std::string_view name) const;
  [[nodiscard]] bool has_debug_information() const;  // possibly compressed
  [[nodiscard]] const std::optional<DebugLink>& debug_link() const { return facts_.debug_link; }

  // The defined functions and objects of .symtab and .dynsym, in file order and with duplicates,
  // whose names begin with `prefix`. Omits names longer than 16 KiB, and everything after the point
  // where the total length of names exceeds their table.
  [[nodiscard]] std::vector<ElfSymbol> symbols(std::string_view prefix) const;

  // Why symbols() is empty although the file claims to have symbols; empty if it is not.
  [[nodiscard]] const std::string& symbols_problem() const { return facts_.symbols_problem; }

  // Reads up to `into.size()` bytes; fewer if the file ends.
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const {
    return read_file_at(file_, offset, into);
  }
  [[nodiscard]] const Fd& file() const { return file_; }

 private:
  // Makes a file from facts. Reserves memory for its symbols, or leaves them out.
  static Result<ElfFile> made(Fd file, ElfFacts facts);
  ElfFile(Fd file, ElfFacts facts) noexcept : file_(std::move(file)), facts_(std::move(facts)) {}

  Fd file_;
  ElfFacts facts_;
  FileShare share_;  // for its symbols
};

// The checksum of a whole file, as used in .gnu_debuglink.
Result<std::uint32_t> debug_link_crc(const Fd& file, const Deadline& deadline = {});

}  // namespace heapattach
