#pragma once

#include <string>
#include <string_view>

#include "attach/fd.h"
#include "report/deadline.h"
#include "report/format/write/sink.h"

// Where a report goes, and that nothing half-written is ever found there.
//
// A file is written without a name (O_TMPFILE) or, where the file system has no such thing, under a
// random one beside its place, and gets its name by linkat() or rename() once it is whole and on
// the disk. So whoever finds the name finds all of it; if we are killed, a file without a name is
// gone. All of it happens below one descriptor of the directory, so that swapping the directory
// meanwhile leads nowhere else. The mode is 0600 whatever the umask: a heap holds secrets.
//
// The name itself is never followed if it is a symbolic link. Neither is a link, a file or anything
// else replaced without `force`: the check when opening is for the user's sake, the one that counts
// is made by the kernel when the name is given (EEXIST). What is no regular file cannot be replaced
// at all. A FIFO or a character device is written to directly, but only with `force`, only if it is
// ours or root's, and never in a sticky directory of another user: whoever put it there would read
// the heap. /dev/null needs no force. /dev/stdout, /dev/stderr and /dev/fd/N mean a descriptor of
// ours, as shells have it; anything else is refused.
namespace heapattach {

// An open destination; drops what was written to it unless it was finished.
class OpenOutput {
 public:
  // Standard output.
  static Result<OpenOutput> standard_output();
  // The file `name`. Waits until `deadline` for somebody to read if it is a FIFO.
  static Result<OpenOutput> file(const std::string& name, bool force, const Deadline& deadline);

  // For a process that gives up its rights before it writes: opens the file now, which file() then
  // hands out. A process forked in between gives it its name, or drops it.
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
  std::string shown_name_;  // as the user knows it
  Fd directory_;            // empty unless this becomes a file
  std::string name_;        // in the directory
  std::string temporary_;   // its name in the directory until then; empty if it has none
  bool force_ = false;
};

class OutputFile final : public Sink {
 public:
  OutputFile(OpenOutput output, const Deadline& deadline);

  // Fails with Timeout or Interrupted rather than wait past the deadline for a reader.
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
