#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/heap/source.h"
#include "symbols/ruby/heap_kind.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/interpreter.h"

namespace heapattach::ruby {

// Fails with Unsupported if the process does not run Ruby or if no other heap is read with Ruby's,
// and with Impossible if it runs a Ruby whose heap cannot be read from outside.
[[nodiscard]] Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target);

// The slots of Ruby's heap, beside malloc's heap, in which their buffers are. A snapshot of Ruby's
// heap alone has objects with their buffers (heap_kind.h).
inline constexpr heap::Kind kSlotsKind{.name = "ruby-slots",
                                       .key = kHeapKind.key,
                                       .owner = "Ruby",
                                       .rest = "ends of pages",
                                       .not_reachable = "garbage, and ends of pages",
                                       .free = "free slots",
                                       .unmapped = {},
                                       .find = &find_heap};

// The slots of Ruby's heap, which contain pointers to what malloc has allocated for them. The words
// of slots and allocations are followed wherever they point, and all private memory is a root: Ruby
// knows more of both than can be read from outside. So an object that is counted as garbage is
// garbage, but an object that is counted as live may be garbage that an old word still references.
class Source final : public heap::Source {
 public:
  Source(Interpreter ruby, Machine machine)
      : ruby_(std::move(ruby)), machine_(std::move(machine)) {}

  [[nodiscard]] const heap::Kind& kind() const override { return kSlotsKind; }
  [[nodiscard]] std::string_view runtime() const override { return "ruby"; }
  [[nodiscard]] std::string module(const Modules& /*modules*/) const override {
    return ruby_.module;
  }
  [[nodiscard]] std::string_view version() const override { return ruby_.version; }
  [[nodiscard]] std::string_view layout() const override { return "table"; }
  [[nodiscard]] heap::Shape shape() const override {
    return {.block_bytes = machine_.layout->page_bytes};
  }
  [[nodiscard]] bool has_known_roots() const override { return false; }
  [[nodiscard]] bool has_values() const override { return false; }
  [[nodiscard]] heap::Counters counters(const MemoryReader& memory) const override;

  Result<heap::CopyPlan> plan(const heap::Surroundings& target,
                              std::span<const FrozenThread> threads,
                              std::uint64_t in_use,
                              heap::Contents& contents) override;
  Result<void> read(const heap::Copied& copied,
                    const heap::Taken& taken,
                    heap::Contents& contents) override;
  heap::LiveSet mark(heap::Heap& heap,
                     const heap::Copied& copied,
                     std::vector<heap::RootRange> roots,
                     unsigned workers) override;
  // Names the objects, and the allocations that are their buffers.
  void name_objects(const runtimes::HeapView& view, runtimes::ObjectNames& names) const override;

 private:
  [[nodiscard]] heap::BlockIndex index_of(const std::vector<HeapPage>& pages) const;
  [[nodiscard]] std::vector<Range> memory_of(const std::vector<HeapPage>& pages) const;
  void take_copy(heap::Contents& contents) const;

  Interpreter ruby_;
  Machine machine_;
  // Set by read().
  std::unique_ptr<HeapCopy> copy_;         // null if its pages could not be read
  const MemoryReader* outside_ = nullptr;  // for memory that was not copied
};

}  // namespace heapattach::ruby
