#include "inject/prospect.h"

#include <algorithm>

#include "attach/process/permission.h"
#include "inject/arch/stub.h"
#include "inject/choose_thread.h"
#include "inject/headroom.h"
#include "inject/padding.h"

namespace heapattach {

namespace {

bool all_are_filtered(const Process& process) {
  const auto listing = process.list_threads();
  if (!listing || listing->tids.empty()) return false;
  return std::all_of(listing->tids.begin(), listing->tids.end(), [&](pid_t tid) {
    const auto status = process.thread_status(tid);
    return status && status->seccomp_mode != 0;
  });
}

}  // namespace

std::optional<std::string> clone_obstacle(const Process& process,
                                          const MemoryMap& map,
                                          const MemoryReader& memory,
                                          std::chrono::milliseconds longest) {
  const auto facts = clone_facts(process);
  if (!facts) return facts.error().message();
  if (auto obstacle = obstacle_to_clone(*facts, longest)) return obstacle;
  if (!may_read_filters() && all_are_filtered(process)) return std::string(kUnreadableFilter);
  if (find_paddings(map, memory, Stub::size_bytes()).empty()) {
    return "there is no padding after its code for the instructions of a clone";
  }
  return std::nullopt;
}

}  // namespace heapattach
