#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/fd.h"
#include "attach/core/core_notes.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// A core file: a process as it was when the kernel ended it, or when gcore ran. It is not trusted:
// all its numbers are checked. It is read with pread, so a file that shrinks while it is read gives
// Faults instead of SIGBUS.
//
// A core file usually omits file-backed memory that the process has not changed
// (/proc/<pid>/coredump_filter). A caller that has found those files can lend() them.
class CoreFile final : public MemoryReader {
 public:
  // Whether a file that starts with these bytes is an ELF file of any kind.
  static bool may_begin(std::string_view bytes) {
    return bytes.starts_with(
        "\x7f"
        "ELF");
  }

  // Unsupported for a core file of another machine. Malformed if it is not a core file, or its
  // threads or memory make no sense.
  static Result<std::unique_ptr<CoreFile>> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  // The processor that the process ran on (e_machine).
  [[nodiscard]] std::uint16_t machine() const { return notes_.machine; }
  [[nodiscard]] pid_t pid() const { return notes_.pid; }
  // The signal that ended it, and the thread that received it; 0 if none did.
  [[nodiscard]] int signal() const { return notes_.signal; }
  [[nodiscard]] pid_t signal_thread() const { return signal_thread_; }
  // Sorted by number. Thread states are unknown, and so are all thread names but one, because core
  // files do not contain them.
  [[nodiscard]] const std::vector<FrozenThread>& threads() const { return notes_.threads; }
  [[nodiscard]] const std::string& auxv() const { return notes_.auxv; }
  // For omitted file-backed memory, it shows only that the memory was readable.
  [[nodiscard]] const MemoryMap& map() const { return map_; }
  // The program, as the process named it; empty if unknown.
  [[nodiscard]] std::string program() const;
  // When the file was last written to.
  [[nodiscard]] std::chrono::system_clock::time_point written() const { return written_; }
  // The bytes of the process's memory that the file contains.
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_bytes_; }
  // The bytes of listed memory that lie past the end of the file.
  [[nodiscard]] std::uint64_t missing_bytes() const { return missing_bytes_; }
  // Descriptions of data that was skipped because it cannot be true.
  [[nodiscard]] const std::vector<std::string>& faults() const { return notes_.faults; }

  // Lets reads of `range` use `file`, which was mapped there, for memory that the core file omits.
  // Not safe while other threads read.
  Result<void> lend(Range range, const Fd& file, std::uint64_t file_offset);

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

 private:
  friend class CoreLoader;

  // Memory, and where its bytes are in a file.
  struct Part {
    Range range;
    std::uint64_t file_offset = 0;
    int fd = -1;
  };

  CoreFile(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  // The value of `type` (AT_…) in the auxiliary vector.
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
