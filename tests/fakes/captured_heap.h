#pragma once

#include <utility>

#include "attach/memory/capture.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach {

// A FakeGcHeap as it is after the thaw: its index read, its blocks copied. `extra` is copied too.
class CapturedHeap {
 public:
  explicit CapturedHeap(FakeGcHeap& fake, std::vector<Range> extra = {});
  ~CapturedHeap();
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
