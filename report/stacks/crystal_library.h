#pragma once

#include <span>
#include <string>
#include <string_view>

#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// Recognises Crystal's standard library in a program's stacks by source file. The directory is
// learned from the stacks themselves, because it differs between installations.
class CrystalLibrary {
 public:
  CrystalLibrary() = default;  // for a program that does not use it, or has no line tables
  explicit CrystalLibrary(std::string directory)
      : directory_(std::move(directory)), is_crystal_(!directory_.empty()) {}

  // Learns the directory from files that occur in the stacks of every Crystal program.
  static CrystalLibrary of(const unwind::Stacks& stacks);
  // Learns the directory from the files in the stacks of a Crystal program.
  static CrystalLibrary of_files(std::span<const std::string_view> files);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  // Whether the program is written in Crystal at all.
  [[nodiscard]] bool is_crystal() const { return is_crystal_; }

  // "channel.cr", "crystal/event_loop/polling.cr": a file's name in the library; empty if it is not
  // in the library.
  [[nodiscard]] std::string_view name_of(std::string_view file) const;

 private:
  std::string directory_;  // with a trailing slash; empty: unknown
  bool is_crystal_ = false;
};

// Whether a function of a program without line tables belongs to the library, judged by its class.
[[nodiscard]] bool is_of_library(std::string_view function);

// "receive" of "Channel(Int32)#receive", "yield" of "Fiber::yield"; other names are returned
// unchanged.
[[nodiscard]] std::string_view method_of(std::string_view function);

// The library file of a function that has a name but no file, as in a program without debug
// information, from its class. Empty if it may be in any file.
[[nodiscard]] std::string_view file_by_class(std::string_view function);

}  // namespace heapattach::stacks
