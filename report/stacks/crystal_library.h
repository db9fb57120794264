#pragma once

#include <string>
#include <string_view>

#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// Crystal's standard library, in the places that a program's stacks have: what a function is, is
// told by the file that it is written in. The directory is learned from the stacks themselves, for
// each installation has another.
class CrystalLibrary {
 public:
  CrystalLibrary() = default;  // of a program without one, or without line tables
  explicit CrystalLibrary(std::string directory)
      : directory_(std::move(directory)), is_crystal_(!directory_.empty()) {}

  // By the files that every Crystal program's stacks go through.
  static CrystalLibrary of(const unwind::Stacks& stacks);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  // Whether the program is written in Crystal at all.
  [[nodiscard]] bool is_crystal() const { return is_crystal_; }

  // "channel.cr", "crystal/event_loop/polling.cr": a file's name in the library; empty if it is not
  // of the library.
  [[nodiscard]] std::string_view name_of(std::string_view file) const;

 private:
  std::string directory_;  // with a slash at its end; empty: not known
  bool is_crystal_ = false;
};

// Whether a function of a program without line tables is the library's, as far as its class tells.
[[nodiscard]] bool is_of_library(std::string_view function);

// "receive" of "Channel(Int32)#receive", "yield" of "Fiber::yield"; what is not a method is itself.
[[nodiscard]] std::string_view method_of(std::string_view function);

// The file of the library in which a function is that has a name but no file, as in a program
// without debug information: by its class. Empty if it may be anywhere.
[[nodiscard]] std::string_view file_by_class(std::string_view function);

}  // namespace heapattach::stacks
