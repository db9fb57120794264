#include "tests/fakes/captured_heap.h"

#include "symbols/boehm/heap.h"

namespace heapattach {

CapturedHeap::CapturedHeap(FakeGcHeap& fake, std::vector<Range> extra)
    : index_(boehm::read_blocks(fake.memory(), fake.map(), fake.layout()).value()),
      capture_(Arena::reserve(1U << 22, 0).value()) {
  (void)capture_.add(fake.memory(), boehm::plan_copy(index_, fake.layout()), {}).value();
  (void)capture_.add(fake.memory(), extra, {}).value();
  heap_.emplace(index_, fake.layout().shape(), capture_);
  boehm::follow(*heap_, {});
}

CapturedHeap::~CapturedHeap() = default;

}  // namespace heapattach
