#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/core_file.h"
#include "attach/live_memory.h"
#include "attach/memory_map.h"
#include "attach/process.h"
#include "report/collect/take.h"
#include "report/typing/naming.h"
#include "report/typing/type_rows.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/roots.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/cxx/vtables.h"
#include "symbols/elf/module.h"
#include "symbols/runtimes.h"

namespace heapattach::snapshot {

// Everything that can be learned about a target while it runs undisturbed: where its heap is, how
// to read it, and the names of its types. Or the same about a core file. Stays where it was made,
// because its parts refer to each other.
class Target {
 public:
  // Reads the target's files and a little of its memory; stops nothing.
  static Result<std::unique_ptr<Target>> learn(const TakeOptions& options);

  Target(Process opened, Fd mem);
  explicit Target(std::unique_ptr<CoreFile> opened);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() = default;

  [[nodiscard]] pid_t pid() const { return process ? process->pid() : core->pid(); }

  std::optional<Process> process;        // none for a core file
  const std::unique_ptr<CoreFile> core;  // null for a process
  const std::unique_ptr<const LiveMemory> live;
  const MemoryReader& memory;  // of either
  MemoryMap map;
  Modules modules{{}};
  boehm::Collector collector;
  std::vector<boehm::RootRange> static_roots;  // before the freeze
  std::vector<Range> collector_data;
  crystal::TypeTable classes;
  crystal::FiberLayout fibers;
  std::optional<cxx::VtableNames> vtables;
  std::optional<Naming> naming;
  runtimes::Runtimes runtimes;
  types::TypeModel types;
  std::optional<TypeRows> rows;
  std::string runtime;  // as in the header of a snapshot
};

}  // namespace heapattach::snapshot
