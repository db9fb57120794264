#include "report/collect/object_facts.h"

#include <atomic>
#include <unordered_map>

namespace heapattach::snapshot {

namespace {

// Finds the distinct sizes of the blocks' objects. Returns the class of each block.
std::vector<std::uint32_t> size_classes(const heap::Heap& heap, std::vector<std::uint64_t>& sizes) {
  std::unordered_map<std::uint64_t, std::uint32_t> classes;
  std::vector<std::uint32_t> of_block;
  of_block.reserve(heap.blocks().size());
  for (const heap::Block& block : heap.blocks()) {
    const auto [it, is_new] =
        classes.try_emplace(block.object_bytes, static_cast<std::uint32_t>(sizes.size()));
    if (is_new) sizes.push_back(block.object_bytes);
    of_block.push_back(it->second);
  }
  return of_block;
}

}  // namespace

ObjectFacts::ObjectFacts(const JoinSources& from, const heap::ObjectSet& live, Snapshot& snapshot)
    : from_(from), live_(live), class_of_(size_classes(from.heap, snapshot.sizes)) {}

void UsedRows::add(TypeIndex row) {
  const std::atomic_ref<std::uint8_t> used(used_[row]);
  if (used.load(std::memory_order_relaxed) == 0) used.store(1, std::memory_order_relaxed);
}

std::vector<Type> UsedRows::types(const TypeRows& rows) const {
  std::vector<Type> types;
  types.reserve(rows.types().size());
  for (TypeIndex row = 0; row < rows.types().size(); ++row) {
    const Type& type = rows.types()[row];
    const bool is_taken = type.typed_by != TypedBy::Referrer || used_[row] != 0;
    types.push_back(is_taken ? type : Type{});
  }
  return types;
}

}  // namespace heapattach::snapshot
