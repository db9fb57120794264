#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/heap/source.h"
#include "symbols/malloc/heap.h"

namespace heapattach::glibc {

[[nodiscard]] Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target);

inline constexpr heap::Kind kHeapKind{.name = "malloc",
                                      .key = "malloc",
                                      .owner = "malloc",
                                      .is_collected = false,
                                      .is_named_by_size = true,
                                      .reachable = "reachable",
                                      .unreachable = "leaked: nothing reachable references it",
                                      .rest = "malloc's own headers and tables",
                                      .rest_key = "overhead_bytes",
                                      .not_reachable =
                                          "leaked, or malloc's own headers and tables: "
                                          "the file does not say which",
                                      .free = "free",
                                      .unmapped = {},
                                      .find = &find_heap};

// The heap of glibc's malloc.
class Source final : public heap::Source {
 public:
  [[nodiscard]] const heap::Kind& kind() const override { return kHeapKind; }
  [[nodiscard]] std::string module(const Modules& modules) const override;
  [[nodiscard]] heap::Shape shape() const override { return kShape; }

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

}  // namespace heapattach::glibc
