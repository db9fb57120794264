#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/fd.h"

namespace heapattach {

// The bytes of an untrusted file. If the file shrinks while they are read, a signal ends the
// process: only use it in a sandbox. Writes stay in this process.
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

// A file with a part of a module's debug information, besides its debug file. The reader has to
// check that it is the right one: nothing of it has been read.
struct Companion {
  enum class Kind : std::uint8_t {
    Split,       // of units whose debug information was split off: a .dwo, or a package (.dwp)
    Supplement,  // what dwz moved out of several files (.gnu_debugaltlink)
  };
  Kind kind = Kind::Split;
  std::string path;  // as requested
  MappedBytes file;
};

// Where to look for them.
struct CompanionSearch {
  std::string path;        // of the module, in the target
  std::string debug_path;  // of its debug file; empty if it has none
  std::vector<std::string> debug_dirs;
  std::function<Result<Fd>(const std::string& path)> open_in_target;  // never outside its root
};

struct Companions {
  std::vector<Companion> files;
  std::vector<std::string> notes;
};

// The files that the debug information in `debug_file` names. A worker in a sandbox reads the
// names; they are checked, and opened as untrusted paths. Call it while this process has one
// thread.
Companions find_companions(const Fd& debug_file, const CompanionSearch& search);

}  // namespace heapattach
