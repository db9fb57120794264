#pragma once

#include "inject/own_process.h"

namespace heapattach {

// Passes our open files to a clone, which may not be allowed to open them itself. It uses a pair of
// sockets, whose two descriptors stay open in the clone until this is destroyed.
class FilePassage {
 public:
  // `own` must outlive the result, and must be stopped whenever the result is used.
  static Result<FilePassage> open(OwnProcess& own);
  ~FilePassage();
  FilePassage(FilePassage&& other) noexcept;
  FilePassage& operator=(FilePassage&&) = delete;
  FilePassage(const FilePassage&) = delete;
  FilePassage& operator=(const FilePassage&) = delete;

  // Passes the file. Returns its descriptor in the clone.
  Result<int> pass(const Fd& file);

 private:
  FilePassage(OwnProcess& own, int first, int second)
      : own_(&own), first_(first), second_(second) {}

  OwnProcess* own_;  // null after a move
  int first_;        // a descriptor in the clone
  int second_;
  Fd ours_;  // our descriptor of the socket `first_`
};

}  // namespace heapattach
