#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/process/process.h"

// The contents of files that a process has open or mapped. Each is opened without rights first, and
// reopened through our own descriptor once it is certain what it is. Names are relative to the
// process's directory: "fd/7".
namespace heapattach {

// The bytes in a pipe, which stay there. Empty if it is none, or cannot be opened.
[[nodiscard]] std::vector<std::byte> pipe_contents(const Process& process, const std::string& name);

// Identifies a file: each file system numbers its files by itself, so both numbers are needed.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

// A memfd, or other shared memory, which is a file to the kernel.
struct MemoryFile {
  FileId id;
  std::uint64_t stored_bytes = 0;  // without holes
  Fd file;
};
[[nodiscard]] Result<MemoryFile> open_memory_file(const Process& process, const std::string& name);
// The parts of it that are stored, one after the other, at most `most` bytes.
[[nodiscard]] std::vector<std::byte> contents_of(const MemoryFile& file, std::uint64_t most);

}  // namespace heapattach
