#pragma once

#include <memory>
#include <string>

#include "symbols/heap/source.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"

namespace heapattach::musl {

// The heap of a static program without symbols, which has glibc's malloc or musl's. While threads
// allocate, they may be changing the bins of musl's older malloc whenever we look, so only the copy
// shows which malloc it is. Until then, the heap is called glibc's.
class Undecided final : public heap::Source {
 public:
  [[nodiscard]] const heap::Kind& kind() const override { return chosen().kind(); }
  [[nodiscard]] std::string module(const Modules& modules) const override {
    return chosen().module(modules);
  }
  [[nodiscard]] heap::Shape shape() const override { return chosen().shape(); }

  [[nodiscard]] Result<void> check(const Modules& modules,
                                   const MemoryReader& memory) const override;
  Result<void> read(const heap::Copied& copied,
                    const heap::Taken& taken,
                    heap::Contents& contents) override;
  heap::LiveSet mark(heap::Heap& heap,
                     const heap::Copied& copied,
                     std::vector<heap::RootRange> roots,
                     unsigned workers) override;

 private:
  [[nodiscard]] const heap::Source& chosen() const {
    if (is_musl_) return musl_;
    return glibc_;
  }

  glibc::Source glibc_;
  musl::Source musl_;
  bool is_musl_ = false;
};

}  // namespace heapattach::musl
