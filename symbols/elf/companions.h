#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "symbols/elf/debug_server.h"

namespace heapattach {

// The bytes of an untrusted file. If the file shrinks while they are read, a signal kills the
// process, so use this only in a sandbox. Writes do not reach the file.
class MappedBytes {
 public:
  // Malformed if it is not a regular file, or is empty or larger than any debug file.
  static Result<MappedBytes> map(const Fd& file);
  ~MappedBytes();
  MappedBytes(MappedBytes&& other) noexcept;
  MappedBytes& operator=(MappedBytes&& other) noexcept;
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedBytes(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;  // empty after a move
};

// A file with part of a module's debug information, in addition to its debug file. It has not been
// read, so the reader must check that it is the right one.
struct Companion {
  enum class Kind : std::uint8_t {
    Split,       // split units: a .dwo, or a package (.dwp)
    Supplement,  // data that dwz moved out of several files (.gnu_debugaltlink)
  };
  Kind kind = Kind::Split;
  std::string path;  // as requested
  MappedBytes file;
};

// The places to search for companions.
struct CompanionSearch {
  std::string path;        // of the module, in the target
  std::string debug_path;  // of its debug file; empty if it has none
  std::vector<std::string> debug_dirs;
  std::function<Result<Fd>(const std::string& path)> open_in_target;  // never outside its root
  Deadline deadline{};
  DebugServer* server = nullptr;  // for supplements that are nowhere else
};

struct Companions {
  std::vector<Companion> files;
  std::vector<std::string> notes;
};

// Opens the files named in the debug information of `debug_file`. A sandboxed worker reads the
// names, which are then checked and opened as untrusted paths. Call it while this process has one
// thread.
Companions find_companions(const Fd& debug_file, const CompanionSearch& search);

}  // namespace heapattach
