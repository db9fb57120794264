#pragma once

#include "inject/own_process.h"

namespace heapattach {

// Passes our open files to a clone of ours, which may not be allowed to open them itself, through a
// socket with one end in the clone. Holds two descriptors in the clone until it ends.
class FilePassage {
 public:
  // `own` must outlive the result, and be stopped whenever it is used.
  static Result<FilePassage> open(OwnProcess& own);
  ~FilePassage();
  FilePassage(FilePassage&& other) noexcept;
  FilePassage& operator=(FilePassage&&) = delete;
  FilePassage(const FilePassage&) = delete;
  FilePassage& operator=(const FilePassage&) = delete;

  // The descriptor that the file has in the clone.
  Result<int> pass(const Fd& file);

 private:
  FilePassage(OwnProcess& own, int first, int second)
      : own_(&own), first_(first), second_(second) {}

  OwnProcess* own_;  // null after a move
  int first_;        // in the clone; `ours_` is the same
  int second_;
  Fd ours_;
};

}  // namespace heapattach
