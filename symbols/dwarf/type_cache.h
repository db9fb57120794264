#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/fd.h"
#include "attach/base/result.h"
#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

// The types of large programs, kept in files from one run to the next: reading 100 MB of debug
// information takes seconds, reading its types from such a file a fiftieth of that.
//
//     $XDG_CACHE_HOME/heapattach/BUILDID-KEY.types, or below ~/.cache
//     "heapattach types 1\n" key "\n" size checksum "\n", then the model (model_bytes.h)
//
// Wrong types would be worse than slow ones, so:
// - The key has everything that the types depend on: the build ids of the program and of
//   heapattach, the limits, libdw's version, and the identity of the file with the debug
//   information. A build id alone proves nothing, because a program can carry any. A file's device,
//   inode and time of change come from the kernel, so no other program, not even in a container,
//   can put its types in the place of these. That holds until the machine restarts, so the key has
//   the boot's id too, and only on local disks: a FUSE or network server can claim any numbers, and
//   so can the maker of a loop device's image. Files there are read each time.
// - The directory and the file count only if they belong to the user and nobody else may write
//   them. A root shell with another user's HOME leaves that directory alone.
// - The bytes are not trusted any more than those of a worker that reads debug information. The
//   checksum detects damage, not forgery.
//
// Any failure means that the types are read again. Nothing is written, not even a directory, until
// there is something to keep.
namespace heapattach::types {

struct TypeCacheLimits {
  std::uint64_t least_debug_bytes = std::uint64_t{16} << 20;  // smaller files are soon read again
  std::uint64_t most_file_bytes = std::uint64_t{64} << 20;
  std::uint64_t most_bytes = std::uint64_t{128} << 20;  // of all files; the oldest are removed
};

class TypeCache {
 public:
  // The file with one module's kept types, and their key.
  struct Entry {
    std::string file;
    std::string key;
  };

  // The user's. Fails, with the reason, if there can be none.
  static Result<TypeCache> of_user();
  // In `below`, a path of directories that are made when they are needed, under `base`, which
  // exists and belongs to the user.
  TypeCache(std::string base, std::vector<std::string> below, TypeCacheLimits limits = {});

  // None if a module's types are not kept: its debug information is small or in several files, or
  // it has no build id. `how` is what else the types depend on.
  [[nodiscard]] std::optional<Entry> entry_of(const Module& module, std::string_view how) const;

  // None if there is no file. Fails if it must not be used. The result must still pass
  // make_sound().
  [[nodiscard]] Result<std::optional<TypeModel>> load(const Entry& entry) const;

  // Takes the bytes of a model. The file appears whole or not at all.
  [[nodiscard]] Result<void> store(const Entry& entry, std::span<const std::byte> model) const;

 private:
  [[nodiscard]] Result<Fd> open_directory(bool make) const;

  std::string base_;
  std::vector<std::string> below_;
  TypeCacheLimits limits_;
};

}  // namespace heapattach::types
