#include "symbols/crystal/fiber_objects.h"

#include <algorithm>

namespace heapattach::crystal {

namespace {

constexpr std::uint64_t kSmallestFiber = 80;
constexpr std::uint64_t kLargestBlock = 64U << 10U;
constexpr std::size_t kBatch = 256;

using Contents = std::vector<std::vector<std::uint64_t>>;  // of the blocks of a batch

bool is_sane(const boehm::Block& block) {
  return block.object_bytes >= kSmallestFiber && block.object_bytes <= kLargestFiber &&
         block.object_bytes % 8 == 0 && block.objects <= kLargestBlock / block.object_bytes &&
         !block.is_atomic();
}

void visit_batch(std::span<const boehm::Block* const> batch,
                 const MemoryReader& memory,
                 Contents& contents,
                 const VisitObject& visit) {
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    contents[i].assign(batch[i]->object_bytes * batch[i]->objects / 8, 0);
    copies.push_back({batch[i]->start, std::as_writable_bytes(std::span(contents[i]))});
  }
  if (!memory.copy_all(copies, {}).has_value()) return;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t words = batch[i]->object_bytes / 8;
    for (std::uint32_t slot = 0; slot < batch[i]->objects; ++slot) {
      visit(batch[i]->object(slot), Words(contents[i]).subspan(slot * words, words));
    }
  }
}

}  // namespace

const Object* find_object(const Objects& objects, std::uint64_t at) {
  const auto found = std::lower_bound(
      objects.begin(), objects.end(), at,
      [](const Object& object, std::uint64_t address) { return object.at.value < address; });
  return found != objects.end() && found->at.value == at ? &*found : nullptr;
}

void each_object(const boehm::BlockIndex& index,
                 const MemoryReader& memory,
                 const ChooseBlock& choose,
                 const VisitObject& visit) {
  std::vector<const boehm::Block*> batch;
  Contents contents(kBatch);
  for (const boehm::Block& block : index.blocks) {
    if (!is_sane(block) || !choose(block)) continue;
    batch.push_back(&block);
    if (batch.size() < kBatch) continue;
    visit_batch(batch, memory, contents, visit);
    batch.clear();
  }
  visit_batch(batch, memory, contents, visit);
}

Objects objects_of(const Wanted& wanted,
                   const boehm::BlockIndex& index,
                   const MemoryReader& memory,
                   const ChooseBlock& choose) {
  Objects objects;
  each_object(
      index, memory,
      [&](const boehm::Block& block) {
        return objects.size() < wanted.most && block.object_bytes >= wanted.bytes && choose(block);
      },
      [&](RemoteAddr at, Words words) {
        if (id_of(words) != wanted.id) return;
        const Words first = words.first(wanted.bytes / 8);
        objects.push_back({at, {first.begin(), first.end()}});
      });
  return objects;
}

}  // namespace heapattach::crystal
