#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "attach/base/attribute.h"
#include "attach/base/result.h"
#include "attach/core/core_file.h"
#include "attach/memory/live_memory.h"
#include "attach/process/memory_map.h"
#include "attach/process/process.h"
#include "report/request.h"
#include "symbols/elf/module.h"
#include "symbols/heap/source.h"

namespace heapattach::snapshot {

// A process or a core file, opened for reading. Every report on a heap or on stacks starts by
// opening one. Nothing is stopped.
class Opened {
 public:
  // Opens the core file, or the process if there is none.
  static Result<Opened> open(const Request& request);

  [[nodiscard]] pid_t pid() const { return process ? process->pid() : core->pid(); }

  // Calls find() and returns its result. The heap of a running process may have grown since `map`
  // was read, so that it no longer fits; in that case, reads the map again and calls find() again.
  template <class Find>
  auto find_as_map_grows(const Find& find) -> decltype(find()) {
    constexpr int kMostTries = 5;
    for (int tries = 1;; ++tries) {
      auto found = find();
      const bool may_have_grown = process && !found && found.error().kind == ErrorKind::Malformed;
      if (!may_have_grown || tries == kMostTries) return found;
      map = HA_TRY(process->maps());
    }
  }

  // Finds a heap of this kind in a process that may be running. With `is_alone`, no other heap is
  // read with it.
  Result<std::unique_ptr<heap::Source>> find_heap(const heap::Kind& kind,
                                                  const std::function<void(std::string_view)>& note,
                                                  const Deadline& deadline,
                                                  bool is_alone = true);

  // Replaces an error by its likely cause: parts may be missing anywhere if the user interrupted
  // us, if the process has exited, or if the core file is incomplete.
  [[nodiscard]] Error explain(Error error) const;

  std::unique_ptr<const Process> process;  // null for a core file
  std::unique_ptr<CoreFile> core;          // null for a process
  std::unique_ptr<const LiveMemory> live;  // null for a core file
  const MemoryReader& memory;              // the memory of the process or the core file
  MemoryMap map;
  Modules modules{{}};
  Attributes resource;      // what the process publishes about itself
  std::string no_resource;  // why that could not be read; empty if it could, or if there is nothing

 private:
  Opened(std::unique_ptr<const Process> opened, Fd mem);
  explicit Opened(std::unique_ptr<CoreFile> opened);

  Result<void> read_modules(const Request& request);
  void read_resource(const Request& request);
};

// Whether a standard library of C++ is loaded.
[[nodiscard]] bool uses_cxx(const Modules& modules);

}  // namespace heapattach::snapshot
