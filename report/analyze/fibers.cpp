#include "report/analyze/fibers.h"

#include <algorithm>

namespace heapattach::analyze {

std::vector<bool> fiber_objects(const snapshot::Snapshot& snapshot) {
  std::vector<bool> are_fibers;
  for (const snapshot::Fiber& fiber : snapshot.fibers) {
    const auto at =
        std::lower_bound(snapshot.objects.begin(), snapshot.objects.end(), fiber.address,
                         [](const snapshot::Object& object, std::uint64_t address) {
                           return object.address < address;
                         });
    if (at == snapshot.objects.end() || at->address != fiber.address) continue;
    are_fibers.resize(snapshot.objects.size());
    are_fibers[static_cast<std::size_t>(at - snapshot.objects.begin())] = true;
  }
  return are_fibers;
}

const snapshot::Fiber* fiber_at(const snapshot::Snapshot& snapshot, ObjectIndex object) {
  // The type is checked first, because a path through a million links asks for each of them.
  const snapshot::Object& asked = snapshot.objects[object];
  if (snapshot.types[asked.type].name != "Fiber") return nullptr;
  const std::uint64_t address = asked.address;
  const auto found =
      std::find_if(snapshot.fibers.begin(), snapshot.fibers.end(),
                   [&](const snapshot::Fiber& fiber) { return fiber.address == address; });
  return found == snapshot.fibers.end() ? nullptr : &*found;
}

}  // namespace heapattach::analyze
