#include "symbols/heap/mark_by_parts.h"

#include <algorithm>
#include <vector>

namespace heapattach::heap {

namespace {

class PartMarker {
 public:
  PartMarker(const Heap& heap, ObjectSet& marks, std::uint64_t part_bytes)
      : heap_(heap), marks_(marks), waiting_(heap), part_of_(heap.blocks().size()) {
    std::uint64_t bytes = part_bytes;
    for (std::uint32_t block = 0; block < part_of_.size(); ++block) {
      if (bytes >= part_bytes) {
        first_block_.push_back(block);
        bytes = 0;
      }
      const Block& one = heap.blocks()[block];
      bytes += one.objects * one.object_bytes;
      part_of_[block] = static_cast<std::uint32_t>(first_block_.size() - 1);
    }
    count_waiting_.resize(first_block_.size());
    current_ = first_block_.size();
    first_block_.push_back(static_cast<std::uint32_t>(part_of_.size()));
  }

  void add(ObjectRef ref) {
    const std::uint64_t number = heap_.number(ref);
    if (!marks_.insert(number) || heap_.record(ref.block).scan == Heap::Scan::Nothing) return;
    const std::size_t part = part_of_[ref.block];
    if (part == current_) {
      stack_.push_back(ref);
    } else {
      waiting_.insert(number);
      ++count_waiting_[part];
    }
  }

  void run() {
    while (true) {
      const auto most = std::max_element(count_waiting_.begin(), count_waiting_.end());
      if (most == count_waiting_.end() || *most == 0) return;
      *most = 0;
      current_ = static_cast<std::size_t>(most - count_waiting_.begin());
      scan_current();
    }
  }

 private:
  [[nodiscard]] std::uint64_t first_number(std::uint32_t block) const {
    return block < part_of_.size() ? heap_.number({block, 0}) : heap_.slots();
  }

  // Scans the objects of the current part that wait, and those of it that they lead to.
  void scan_current() {
    std::uint32_t block = first_block_[current_];
    const std::uint64_t end = first_number(first_block_[current_ + 1]);
    std::uint64_t number = first_number(block);
    while ((number = waiting_.next(number, end)) < end) {
      waiting_.erase(number);
      while (first_number(block + 1) <= number) ++block;
      stack_.push_back({block, static_cast<std::uint32_t>(number - first_number(block))});
      drain();
    }
  }

  void drain() {
    while (!stack_.empty()) {
      const ObjectRef ref = stack_.back();
      stack_.pop_back();
      heap_.for_each_word(ref, [this](std::uint64_t, std::uint64_t word) {
        if (!heap_.spans(word)) return;
        if (const auto to = heap_.resolve(word)) add(*to);
      });
    }
  }

  const Heap& heap_;
  ObjectSet& marks_;
  ObjectSet waiting_;                         // marked, but not scanned yet
  std::vector<std::uint32_t> part_of_;        // by block
  std::vector<std::uint32_t> first_block_;    // by part, and the number of blocks
  std::vector<std::uint64_t> count_waiting_;  // by part
  std::size_t current_ = 0;                   // the part that is being scanned
  std::vector<ObjectRef> stack_;              // of the current part
};

}  // namespace

void mark_by_parts(const Heap& heap,
                   ObjectSet& marks,
                   std::span<const RootWords> words,
                   std::span<const ObjectRef> objects,
                   std::uint64_t part_bytes) {
  PartMarker marker(heap, marks, part_bytes);
  for (const RootWords& root : words) {
    for_each_word(root, [&](std::size_t, std::uint64_t word) {
      if (const auto ref = heap.resolve(word, root.from)) marker.add(*ref);
    });
  }
  for (const ObjectRef ref : objects) marker.add(ref);
  marker.run();
}

}  // namespace heapattach::heap
