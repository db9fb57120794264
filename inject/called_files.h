#pragma once

#include <string>

#include "attach/process/process.h"
#include "inject/call_rules.h"

namespace heapattach {

// The files of a clone, as its rules see them. A path is followed without opening what it names,
// because opening a device or a FIFO has effects.
//
// Another process may replace the file before the clone opens it. The rules accept that, because
// the clone itself cannot cause it.
class FilesOfClone final : public CalledFiles {
 public:
  // `own_pid` is the pid that the clone has in its own namespace. With `may_see_others`, the clone
  // may open other processes' files in /proc, because Landlock denies the files that only a tracer
  // may open. `clone` must outlive this.
  FilesOfClone(const Process& clone, pid_t own_pid, bool may_see_others)
      : clone_(clone), own_pid_(own_pid), may_see_others_(may_see_others) {}

  [[nodiscard]] bool is_harmless(int directory,
                                 const std::string& path,
                                 bool follows) const override;
  [[nodiscard]] OpenFile descriptor(int number) const override;

 private:
  [[nodiscard]] Result<Fd> find(int directory, const std::string& path, bool follows) const;
  [[nodiscard]] bool is_of_another(const Fd& file) const;

  const Process& clone_;
  pid_t own_pid_;
  bool may_see_others_;
};

}  // namespace heapattach
