#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attach/live_memory.h"
#include "attach/process.h"
#include "report/deadline.h"
#include "symbols/boehm/layout.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/module.h"

namespace heapattach::stacks {

struct StackOptions {
  pid_t pid = 0;
  bool rewind = true;
  std::optional<std::chrono::milliseconds> max_pause;
  std::string type_info;  // a file; empty: none
  SymbolSearch symbols;
  Deadline deadline;
  std::function<void(std::string_view)> note;  // told of each step, for -v; may be empty

  void say(std::string_view text) const {
    if (note) note(text);
  }
};

// What is learned of a target before it is stopped for its stacks: of any program its modules, of a
// Crystal program how its fibers look. Stays where it was made.
class StackTarget {
 public:
  static Result<std::unique_ptr<StackTarget>> learn(const StackOptions& options);

  StackTarget(Process process, Fd mem);
  StackTarget(const StackTarget&) = delete;
  StackTarget& operator=(const StackTarget&) = delete;
  ~StackTarget() = default;

  Process process;
  LiveMemory memory;
  MemoryMap map;
  Modules modules{{}};
  // Only of a Crystal program.
  std::optional<boehm::Layout> heap;
  crystal::TypeTable classes;
  crystal::FiberLayout fibers;

 private:
  Result<void> learn_fibers(const StackOptions& options);
};

}  // namespace heapattach::stacks
