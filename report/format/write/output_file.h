#pragma once

#include <string>
#include <string_view>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "report/format/write/sink.h"

// Opens the destination of a report, and makes sure that no half-written report is ever found
// there.
//
// A file is written without a name (O_TMPFILE) or, if the file system does not support that, under
// a random name in the same directory. It gets its name by linkat() or rename() once it is complete
// and on the disk. So a file with that name is always complete, and if we are killed, an unnamed
// file disappears. Everything happens relative to one descriptor of the directory, so replacing the
// directory in the meantime has no effect. The mode is 0600 whatever the umask, because a heap
// contains secrets.
//
// A symbolic link with that name is never followed. Nothing is replaced without `force`. The check
// when opening is only for the user's convenience; the decisive check is made by the kernel when
// the file gets its name (EEXIST). Only regular files and links can be replaced at all. A FIFO or a
// character device is written to directly, but only with `force`, only if it belongs to us or root,
// and never in a sticky directory of another user, because its creator could read the heap.
// /dev/null does not need `force`. /dev/stdout, /dev/stderr and /dev/fd/N mean our own descriptors,
// as in shells; anything else is refused.
namespace heapattach {

// An open destination. Unless it is finished, everything written to it is discarded.
class OpenOutput {
 public:
  // Standard output.
  static Result<OpenOutput> standard_output();
  // Opens the file `name`. If it is a FIFO, waits until `deadline` for a reader.
  static Result<OpenOutput> file(const std::string& name, bool force, const Deadline& deadline);

  // For a process that gives up its rights before it writes: opens the file now, so that file()
  // returns it later. A process forked in between gives the file its name, or discards it.
  static void open_ahead(const std::string& name, bool force, const Deadline& deadline);
  static Result<void> publish_ahead();
  static void drop_ahead();

  ~OpenOutput();
  OpenOutput(OpenOutput&&) noexcept = default;
  OpenOutput& operator=(OpenOutput&&) = delete;
  OpenOutput(const OpenOutput&) = delete;
  OpenOutput& operator=(const OpenOutput&) = delete;

 private:
  friend class OutputFile;
  OpenOutput(Fd fd, std::string shown_name)
      : fd_(std::move(fd)), shown_name_(std::move(shown_name)) {}

  static Result<OpenOutput> open(const std::string& name, bool force, const Deadline& deadline);
  static Result<OpenOutput> temporary(Fd directory, std::string name, std::string shown_name);
  // Gives the file its name.
  Result<void> publish(bool force);
  [[nodiscard]] Result<void> link_anew(const std::string& name);

  Fd fd_;
  std::string shown_name_;  // as the user wrote it
  Fd directory_;            // set only if this becomes a file
  std::string name_;        // in the directory
  std::string temporary_;   // its temporary name in the directory; empty if it has none
  bool force_ = false;
};

class OutputFile final : public Sink {
 public:
  OutputFile(OpenOutput output, const Deadline& deadline);

  // Fails with Timeout or Interrupted instead of waiting past the deadline for a reader.
  Result<void> write(std::string_view bytes) override;
  Result<void> finish() override;

 private:
  // Waits until a write of kPipeBytes would not block.
  Result<void> wait_for_room();

  OpenOutput output_;
  Deadline deadline_;
  bool may_block_;  // a pipe, a socket or a terminal
};

// Replaces %p, %h, %t in a file name by the pid, the host and the time, and %% by %.
[[nodiscard]] std::string expand_name(std::string_view pattern,
                                      pid_t pid,
                                      std::string_view host,
                                      std::string_view time);

}  // namespace heapattach
