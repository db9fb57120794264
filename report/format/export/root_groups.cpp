#include "report/format/export/root_groups.h"

#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::RootKind;
using snapshot::Snapshot;

std::string fiber_label(const Snapshot& snapshot, std::uint64_t address) {
  for (const snapshot::Fiber& fiber : snapshot.fibers) {
    if (fiber.address == address && !fiber.name.empty()) {
      return fmt::format("fiber {} ({:#x}) stack", terminal_text(fiber.name), address);
    }
  }
  return fmt::format("fiber {:#x} stack", address);
}

std::string label_of(const Snapshot& snapshot, const snapshot::Root& root) {
  switch (root.kind) {
    case RootKind::Stack: return fmt::format("thread {} stack", root.thread.value_or(0));
    case RootKind::Register: return fmt::format("thread {} registers", root.thread.value_or(0));
    case RootKind::ThreadLocal: return "thread-local data";
    case RootKind::Fiber: return fiber_label(snapshot, root.fiber.value_or(0));
    case RootKind::Uncollectable: return "uncollectable objects";
    case RootKind::Finalizer: return "finalizers";
    case RootKind::Global: break;
  }
  return "static data";
}

}  // namespace

std::vector<RootGroup> group_roots(const Snapshot& snapshot) {
  std::vector<std::uint32_t> all(snapshot.roots.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  return group_roots(snapshot, all);
}

std::vector<RootGroup> group_roots(const Snapshot& snapshot,
                                   const std::vector<std::uint32_t>& roots) {
  std::vector<RootGroup> groups;
  std::map<std::tuple<RootKind, pid_t, std::uint64_t>, std::size_t> places;
  for (const std::uint32_t index : roots) {
    const snapshot::Root& root = snapshot.roots[index];
    if (root.to >= snapshot.objects.size()) continue;
    if (!is_counted(snapshot, snapshot.objects[root.to])) continue;
    const auto place = std::tuple(root.kind, root.thread.value_or(0), root.fiber.value_or(0));
    const auto [at, is_new] = places.try_emplace(place, groups.size());
    if (is_new) groups.push_back({root.kind, label_of(snapshot, root), {}});
    groups[at->second].roots.push_back(index);
  }
  return groups;
}

}  // namespace heapattach
