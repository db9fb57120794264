#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/core_notes.h"
#include "attach/fd.h"
#include "attach/memory_map.h"
#include "attach/memory_reader.h"

namespace heapattach {

// A core file: a process as it was when the kernel ended it, or when gcore looked at it. Nobody
// vouches for it: all its numbers are checked, and it is read with pread, so that one that shrinks
// meanwhile gives faults and no SIGBUS.
//
// What a process has in common with its files is mostly left out of a core file
// (/proc/<pid>/coredump_filter). Whoever has found the very files that were mapped lends them.
class CoreFile final : public MemoryReader {
 public:
  // Whether these first bytes of a file are those of an ELF file, of whatever kind.
  static bool may_begin(std::string_view bytes) {
    return bytes.starts_with(
        "\x7f"
        "ELF");
  }

  // Unsupported if it is an ELF file but no core file, or of another machine; Malformed if it says
  // nothing of threads or memory that could be true.
  static Result<std::unique_ptr<CoreFile>> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] pid_t pid() const { return notes_.pid; }
  // The signal that ended it, and the thread that it came to; 0 if it was none.
  [[nodiscard]] int signal() const { return notes_.signal; }
  [[nodiscard]] pid_t signal_thread() const { return signal_thread_; }
  // By number. What a core file does not tell of them is not known: states, and all names but one.
  [[nodiscard]] const std::vector<FrozenThread>& threads() const { return notes_.threads; }
  [[nodiscard]] const std::string& auxv() const { return notes_.auxv; }
  // Says of file-backed memory that was left out only that it is there to be read.
  [[nodiscard]] const MemoryMap& map() const { return map_; }
  // The program, as the process named it; empty if that is not told.
  [[nodiscard]] std::string program() const;
  // When the file was last written to.
  [[nodiscard]] std::chrono::system_clock::time_point written() const { return written_; }
  // How much of the process's memory is in it.
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_bytes_; }
  // How much of what it says it has is behind its end.
  [[nodiscard]] std::uint64_t missing_bytes() const { return missing_bytes_; }
  // What was skipped because it cannot be true.
  [[nodiscard]] const std::vector<std::string>& faults() const { return notes_.faults; }

  // Reads what the core file leaves out of `range` from `file`, which was mapped there. Not while
  // others read.
  Result<void> lend(Range range, const Fd& file, std::uint64_t file_offset);

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

 private:
  friend class CoreLoader;

  // Memory, and where its bytes stand in a file.
  struct Part {
    Range range;
    std::uint64_t file_offset = 0;
    int fd = -1;
  };

  CoreFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  // What the auxiliary vector says of `type` (AT_…).
  [[nodiscard]] std::optional<std::uint64_t> told_by_kernel(std::uint64_t type) const;
  [[nodiscard]] static const Part* find(const std::vector<Part>& parts, RemoteAddr at);

  Fd file_;
  std::string path_;
  CoreNotes notes_;
  pid_t signal_thread_ = 0;
  MemoryMap map_;
  std::vector<Part> stored_;  // sorted, disjoint, within the file
  std::vector<Part> lent_;    // sorted, disjoint
  std::vector<Fd> files_;     // of lent_
  std::chrono::system_clock::time_point written_;
  std::uint64_t stored_bytes_ = 0;
  std::uint64_t missing_bytes_ = 0;
};

}  // namespace heapattach
