#pragma once

#include <utility>

#include "attach/capture.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach {

// A FakeGcHeap as it is after the thaw: its index read, its blocks copied. `extra` is copied too.
class CapturedHeap {
 public:
  explicit CapturedHeap(FakeGcHeap& fake, std::vector<Range> extra = {})
      : index_(boehm::read_blocks(fake.memory(), fake.map(), fake.layout()).value()),
        capture_(Arena::reserve(1U << 22, 0).value()) {
    (void)capture_.add(fake.memory(), plan_copy(index_, fake.layout()), {}).value();
    (void)capture_.add(fake.memory(), extra, {}).value();
    heap_.emplace(index_, fake.layout(), capture_);
  }
  CapturedHeap(const CapturedHeap&) = delete;
  CapturedHeap& operator=(const CapturedHeap&) = delete;

  [[nodiscard]] const boehm::BlockIndex& index() const { return index_; }
  [[nodiscard]] const Capture& capture() const { return capture_; }
  [[nodiscard]] const boehm::Heap& heap() const { return *heap_; }
  [[nodiscard]] boehm::Heap& heap() { return *heap_; }

 private:
  boehm::BlockIndex index_;
  Capture capture_;
  std::optional<boehm::Heap> heap_;
};

}  // namespace heapattach
