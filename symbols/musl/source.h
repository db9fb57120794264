#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "symbols/heap/source.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/heap.h"

namespace heapattach::musl {

[[nodiscard]] Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target);

// A process has either this malloc or glibc's, so both have one key. They also have the same words,
// except for memory that is neither allocated nor free: a slot may be larger than its allocation.
inline constexpr heap::Kind kHeapKind = [] {
  heap::Kind kind = glibc::kHeapKind;
  kind.name = "musl";
  kind.rest = "malloc's own headers and tables, and ends of slots";
  kind.not_reachable =
      "leaked, or malloc's own headers, tables and ends of slots: the file does not say which";
  kind.find = &find_heap;
  return kind;
}();

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
