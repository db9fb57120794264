#pragma once

#include <cstdint>

#include "attach/fd.h"

// Bounds on what is read of files that nobody vouches for. A hole in a sparse file costs nothing to
// make and as much memory to read as real data, and one file can be mapped a thousand times. So
// what is mostly holes is not read, and all files together may take kMostFileBytes of our memory.
namespace heapattach {

// The symbols of all modules of a large C++ program with debug information take about 200 MiB.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{384} << 20;

// How many of the `bytes` at `offset` the file system stores; those of holes and beyond the end are
// left out.
[[nodiscard]] std::uint64_t stored_bytes(const Fd& file, std::uint64_t offset, std::uint64_t bytes);

// Whether that part of the file lies within it and is mostly there.
[[nodiscard]] bool is_stored(const Fd& file, std::uint64_t offset, std::uint64_t bytes);

// All that the file system stores of it.
[[nodiscard]] std::uint64_t stored_bytes(const Fd& file);

// What a worker in the sandbox may take to read the debug information of files with so many stored
// bytes: libdw keeps all sections that it looks at, some of them unpacked, and a model is made of
// them.
[[nodiscard]] std::uint64_t memory_to_read(std::uint64_t file_bytes);

// Memory taken of the bound, given back with it.
class FileShare {
 public:
  FileShare() = default;
  ~FileShare();
  FileShare(FileShare&& other) noexcept;
  FileShare& operator=(FileShare&& other) noexcept;
  FileShare(const FileShare&) = delete;
  FileShare& operator=(const FileShare&) = delete;

  // Takes more. False, and nothing taken, if that is more than is left.
  [[nodiscard]] bool take(std::uint64_t bytes);

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace heapattach
