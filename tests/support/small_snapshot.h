#pragma once

#include <utility>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// Builds a Snapshot from a few lines. Add objects in address order.
class SnapshotBuilder {
 public:
  SnapshotBuilder() {
    snapshot.header.tool = "heapattach 0.1.0";
    snapshot.header.pid = 4711;
    snapshot.header.source = "freeze";
    snapshot.first_edge.push_back(0);
  }

  snapshot::TypeIndex type(std::string name, bool is_known = true) {
    snapshot::Type made;
    made.name = std::move(name);
    made.typed_by = is_known ? snapshot::TypedBy::Header : snapshot::TypedBy::Nothing;
    snapshot.types.push_back(std::move(made));
    return static_cast<snapshot::TypeIndex>(snapshot.types.size() - 1);
  }

  // Adds an object. Its pointers are pairs of a byte offset and an object's index.
  snapshot::Object& object(
      std::uint64_t address,
      snapshot::TypeIndex type,
      std::uint64_t bytes,
      const std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>>& pointers = {}) {
    for (const auto& [offset, to] : pointers) snapshot.edges.push_back({offset / 8, to});
    snapshot.first_edge.push_back(snapshot.edges.size());
    snapshot::Object made{};
    made.address = address & 0xffffffffffffU;
    made.is_reachable = 1;
    made.type = type;
    made.size_class = size_class(bytes);
    snapshot.objects.push_back(made);
    return snapshot.objects.back();
  }

  snapshot::Snapshot snapshot;

 private:
  std::uint32_t size_class(std::uint64_t bytes) {
    for (std::size_t i = 0; i < snapshot.sizes.size(); ++i) {
      if (snapshot.sizes[i] == bytes) return static_cast<std::uint32_t>(i);
    }
    snapshot.sizes.push_back(bytes);
    return static_cast<std::uint32_t>(snapshot.sizes.size() - 1);
  }
};

}  // namespace heapattach
