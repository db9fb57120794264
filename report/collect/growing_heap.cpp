#include "report/collect/growing_heap.h"

namespace heapattach::snapshot {

Result<boehm::Collector> find_collector(const Process* process,
                                        const Modules& modules,
                                        const MemoryReader& memory,
                                        MemoryMap& map) {
  constexpr int kMostTries = 5;
  for (int tries = 1;; ++tries) {
    auto found = boehm::find_collector(modules, memory, map);
    const bool may_have_grown =
        process != nullptr && !found && found.error().kind == ErrorKind::Malformed;
    if (!may_have_grown || tries == kMostTries) return found;
    map = HA_TRY(process->maps());
  }
}

}  // namespace heapattach::snapshot
