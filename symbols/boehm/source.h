#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/boehm/collector.h"
#include "symbols/boehm/root_tables.h"
#include "symbols/heap/source.h"

namespace heapattach::boehm {

[[nodiscard]] Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target);

inline constexpr heap::Kind kHeapKind{.name = "bdwgc",
                                      .key = "gc",
                                      .owner = "the collector",
                                      // Libraries use malloc, even if the program does not.
                                      .tip = "--heap both shows glibc's malloc heap, too",
                                      .find = &find_heap};

// The heap of the collector.
class Source final : public heap::Source {
 public:
  Source(Collector collector, const heap::Surroundings& target);

  [[nodiscard]] const heap::Kind& kind() const override { return kHeapKind; }
  [[nodiscard]] std::string module(const Modules& /*modules*/) const override {
    return collector_.module;
  }
  [[nodiscard]] std::string_view version() const override { return collector_.version; }
  [[nodiscard]] std::string_view layout() const override;
  [[nodiscard]] heap::Shape shape() const override { return collector_.layout.shape(); }
  [[nodiscard]] heap::Counters counters(const MemoryReader& memory) const override;
  [[nodiscard]] std::vector<Range> variables(const Modules& modules) const override;
  [[nodiscard]] std::span<const Range> data() const override { return data_; }
  [[nodiscard]] std::span<const heap::RootRange> static_roots() const override {
    return static_roots_;
  }
  [[nodiscard]] Result<heap::BlockIndex> blocks(const heap::Surroundings& target,
                                                std::uint64_t in_use) const override;
  [[nodiscard]] std::optional<heap::RootFunction> root_function(
      const Modules& modules, const MemoryReader& memory) const override;

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

 private:
  Collector collector_;
  std::vector<Range> data_;
  std::vector<heap::RootRange> static_roots_;
  // As they were when the copy was planned:
  RootTables tables_;
  heap::Counters counters_;
};

}  // namespace heapattach::boehm
