#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "symbols/heap/source.h"
#include "symbols/musl/heap.h"

namespace heapattach::musl {

[[nodiscard]] Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target);

// A process has either this malloc or glibc's, so both have one key.
inline constexpr heap::Kind kHeapKind{.name = "musl",
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

// The heap of musl's malloc.
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

}  // namespace heapattach::musl
