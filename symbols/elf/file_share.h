#pragma once

#include <cstdint>

#include "attach/base/fd.h"

// Limits on reading untrusted files. A hole in a sparse file costs nothing to create but takes as
// much memory to read as real data, and one file can be mapped a thousand times. So files that are
// mostly holes are not read, and all files together may use at most kMostFileBytes of our memory.
namespace heapattach {

// The symbols of all modules of a large C++ program with debug information take about 200 MiB.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{384} << 20;

// How many of the `bytes` at `offset` are actually stored, not counting holes or bytes past the end
// of the file.
[[nodiscard]] std::uint64_t stored_bytes(const Fd& file, std::uint64_t offset, std::uint64_t bytes);

// Whether `bytes` from `offset` are within the file and mostly stored.
[[nodiscard]] bool is_stored(const Fd& file, std::uint64_t offset, std::uint64_t bytes);

// The size of the file without its holes.
[[nodiscard]] std::uint64_t stored_bytes(const Fd& file);

// The memory that a sandboxed worker may use to read debug information from `file_bytes` of stored
// files: libdw keeps all sections that it reads, some of them decompressed, and the model needs
// memory too.
[[nodiscard]] std::uint64_t memory_to_read(std::uint64_t file_bytes);

// Memory charged against the limit, and released when this object is destroyed.
class FileShare {
 public:
  FileShare() = default;
  ~FileShare();
  FileShare(FileShare&& other) noexcept;
  FileShare& operator=(FileShare&& other) noexcept;
  FileShare(const FileShare&) = delete;
  FileShare& operator=(const FileShare&) = delete;

  // Charges more memory. Returns false and changes nothing if less than that is left.
  [[nodiscard]] bool take(std::uint64_t bytes);

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace heapattach
