#pragma once

#include <utility>

#include "attach/memory/capture.h"
#include "symbols/heap/blocks.h"
#include "symbols/heap/heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach {

// A FakeGcHeap as it is after the thaw: its index has been read, and its blocks and `extra` have
// been copied.
class CapturedHeap {
 public:
  explicit CapturedHeap(FakeGcHeap& fake, std::vector<Range> extra = {});
  ~CapturedHeap();
  CapturedHeap(const CapturedHeap&) = delete;
  CapturedHeap& operator=(const CapturedHeap&) = delete;

  [[nodiscard]] const heap::BlockIndex& index() const { return index_; }
  [[nodiscard]] const Capture& capture() const { return capture_; }
  [[nodiscard]] const heap::Heap& heap() const { return *heap_; }
  [[nodiscard]] heap::Heap& heap() { return *heap_; }

 private:
  heap::BlockIndex index_;
  Capture capture_;
  std::optional<heap::Heap> heap_;
};

}  // namespace heapattach
