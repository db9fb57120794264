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
      return fmt::format("fiber {} ({:#x})", terminal_text(fiber.name), address);
    }
  }
  return fmt::format("fiber {:#x}", address);
}

std::string label_of(const Snapshot& snapshot, const snapshot::Root& root) {
  const snapshot::RootKindRow& kind = snapshot::root_kind(root.kind);
  const bool has_owner =
      kind.word == snapshot::RootWord::OnStack || kind.word == snapshot::RootWord::InRegister;
  if (!has_owner) return std::string(kind.part);
  return fmt::format("{} {}",
                     root.fiber ? fiber_label(snapshot, *root.fiber)
                                : fmt::format("thread {}", root.thread.value_or(0)),
                     kind.part);
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
