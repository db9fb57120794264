#include "symbols/crystal/fiber_objects.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "attach/base/near_search.h"

namespace heapattach::crystal {

namespace {

constexpr std::uint64_t kSmallestFiber = 80;
constexpr std::uint64_t kLargestBlock = 64U << 10U;
constexpr std::size_t kBatch = 256;
constexpr std::size_t kPieceWords = std::size_t{64} << 10U;

using Contents = std::vector<std::vector<std::uint64_t>>;  // of the blocks of a batch

bool is_sane(const heap::Block& block) {
  return block.object_bytes >= kSmallestFiber && block.object_bytes <= kLargestFiber &&
         block.object_bytes % 8 == 0 && block.objects <= kLargestBlock / block.object_bytes &&
         !block.is_atomic();
}

void visit_batch(std::span<const heap::Block* const> batch,
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

void Objects::add(RemoteAddr at, Words words) {
  if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < words.size()) {
    pieces_.emplace_back().reserve(std::max(kPieceWords, words.size()));
  }
  std::vector<std::uint64_t>& piece = pieces_.back();
  const auto first = piece.insert(piece.end(), words.begin(), words.end());
  objects_.push_back({at, Words(first, piece.end())});
}

void Objects::merge(Objects more) {
  if (empty()) {
    *this = std::move(more);
    return;
  }
  std::move(more.pieces_.begin(), more.pieces_.end(), std::back_inserter(pieces_));
  const auto middle = objects_.insert(objects_.end(), more.begin(), more.end());
  std::inplace_merge(objects_.begin(), middle, objects_.end(),
                     [](const Object& a, const Object& b) { return a.at < b.at; });
}

const Object* Objects::find(std::uint64_t at, const Object& from) const {
  const auto guess = begin() + (&from - objects_.data());
  const auto found = partition_point_near(
      begin(), end(), guess, [at](const Object& object) { return object.at.value < at; });
  return found != end() && found->at.value == at ? &*found : nullptr;
}

void each_object(const heap::BlockIndex& index,
                 const MemoryReader& memory,
                 const ChooseBlock& choose,
                 const VisitObject& visit) {
  std::vector<const heap::Block*> batch;
  Contents contents(kBatch);
  for (const heap::Block& block : index.blocks) {
    if (!is_sane(block) || !choose(block)) continue;
    batch.push_back(&block);
    if (batch.size() < kBatch) continue;
    visit_batch(batch, memory, contents, visit);
    batch.clear();
  }
  visit_batch(batch, memory, contents, visit);
}

Objects objects_of(const Wanted& wanted,
                   const heap::BlockIndex& index,
                   const MemoryReader& memory,
                   const ChooseBlock& choose) {
  Objects objects;
  each_object(
      index, memory,
      [&](const heap::Block& block) {
        return objects.size() < wanted.most && block.object_bytes >= wanted.bytes && choose(block);
      },
      [&](RemoteAddr at, Words words) {
        if (id_of(words) != wanted.id) return;
        objects.add(at, words.first(wanted.bytes / 8));
      });
  return objects;
}

}  // namespace heapattach::crystal
