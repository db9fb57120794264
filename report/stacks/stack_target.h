#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attach/core_file.h"
#include "attach/live_memory.h"
#include "attach/process.h"
#include "report/deadline.h"
#include "symbols/boehm/layout.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"

namespace heapattach::stacks {

struct StackOptions {
  pid_t pid = 0;
  std::string core_file;  // instead of a process; empty: none
  bool rewind = true;
  std::optional<std::chrono::milliseconds> max_pause;
  std::string type_info;  // a file; empty: none
  SymbolSearch symbols;
  Deadline deadline;
  std::function<void(std::string_view)> note;  // called for each step, for -v; may be empty

  void say(std::string_view text) const {
    if (note) note(text);
  }
};

// What is learned of a target before it is stopped for its stacks: the modules of any program, and
// the layout of fibers in a Crystal program. Or the same from a core file. Stays where it was made.
class StackTarget {
 public:
  static Result<std::unique_ptr<StackTarget>> learn(const StackOptions& options);

  StackTarget(Process opened, Fd mem);
  explicit StackTarget(std::unique_ptr<CoreFile> opened);
  StackTarget(const StackTarget&) = delete;
  StackTarget& operator=(const StackTarget&) = delete;
  ~StackTarget() = default;

  [[nodiscard]] pid_t pid() const { return process ? process->pid() : core->pid(); }

  std::optional<Process> process;        // none for a core file
  const std::unique_ptr<CoreFile> core;  // null for a process
  const std::unique_ptr<const LiveMemory> live;
  const MemoryReader& memory;  // of either
  MemoryMap map;
  Modules modules{{}};
  // Only for a Crystal program.
  std::optional<boehm::Layout> heap;
  crystal::TypeTable classes;
  crystal::FiberLayout fibers;
  std::string refusal;  // why --type-info is not used; empty if it is, or none was given

 private:
  Result<void> learn_fibers(const StackOptions& options);
};

}  // namespace heapattach::stacks
