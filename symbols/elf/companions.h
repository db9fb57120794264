#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/fd.h"

namespace heapattach {

// The bytes of a file that nobody vouches for. Who reads them while the file shrinks is ended by a
// signal: only to be touched in a sandbox. What is written to them stays in this process.
class MappedBytes {
 public:
  // Malformed if it is no regular file, or is empty or larger than any debug file.
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

// A file over which the debug information of a module is spread, besides its debug file. Whether it
// is the one that was meant is for its reader to see: nothing of it has been read.
struct Companion {
  enum class Kind : std::uint8_t {
    Split,       // of units whose debug information was split off: a .dwo, or a package (.dwp)
    Supplement,  // what dwz moved out of several files (.gnu_debugaltlink)
  };
  Kind kind = Kind::Split;
  std::string path;  // as it was asked for
  MappedBytes file;
};

// Where to look for them.
struct CompanionSearch {
  std::string path;        // of the module, in the target
  std::string debug_path;  // of its debug file; empty if it has none
  std::vector<std::string> debug_dirs;
  std::function<Result<Fd>(const std::string& path)> open_in_target;  // never outside of its root
};

struct Companions {
  std::vector<Companion> files;
  std::vector<std::string> notes;
};

// Those that the debug information in `debug_file` names. It is read by a worker in a sandbox; what
// that says is checked, and opened as the paths of a stranger. To be called while this process has
// one thread.
Companions find_companions(const Fd& debug_file, const CompanionSearch& search);

}  // namespace heapattach
