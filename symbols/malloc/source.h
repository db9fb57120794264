#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "symbols/heap/source.h"
#include "symbols/malloc/heap.h"

namespace heapattach::glibc {

// The heap of glibc's malloc.
class Source final : public heap::Source {
 public:
  [[nodiscard]] std::string_view name() const override { return "malloc"; }
  [[nodiscard]] std::string_view whose() const override { return "malloc's"; }
  [[nodiscard]] heap::Shape shape() const override { return kShape; }
  [[nodiscard]] bool is_by_hand() const override { return true; }

  [[nodiscard]] Result<void> check(const Modules& modules,
                                   const MemoryReader& memory) const override;
  Result<void> read(const heap::Copied& copied,
                    const heap::Taken& taken,
                    heap::Contents& contents) override;
  heap::LiveSet mark(heap::Heap& heap,
                     const heap::Copied& copied,
                     std::vector<heap::RootRange> roots,
                     unsigned workers) override;
};

class Kind final : public heap::Kind {
 public:
  [[nodiscard]] std::string_view choice() const override { return "malloc"; }
  [[nodiscard]] Result<std::unique_ptr<heap::Source>> find(
      const heap::Surroundings& target) const override;
};

}  // namespace heapattach::glibc
