#pragma once

#include <array>

#include "attach/memory/memory_reader.h"

namespace heapattach::unwind {

// Reads small values through a cached copy of the most recently used page, because a walk reads a
// stack a few words at a time. For use by one thread.
class StackWindow final : public MemoryReader {
 public:
  explicit StackWindow(const MemoryReader& memory) : memory_(memory) {}

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

 private:
  static constexpr std::uint64_t kBytes = 1024;

  const MemoryReader& memory_;
  mutable std::array<std::byte, kBytes> copy_{};
  mutable Range range_{};  // the range copied to the cache
};

}  // namespace heapattach::unwind
