#pragma once

#include "attach/memory/memory_reader.h"

namespace heapattach::ruby {

// Reads copied memory from the copy, and the rest, such as constants, from the process.
class CopyFirst final : public MemoryReader {
 public:
  CopyFirst(const MemoryReader& copy, const MemoryReader& memory) : copy_(copy), memory_(memory) {}

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override {
    auto got = copy_.read_some(from, into);
    return got ? got : memory_.read_some(from, into);
  }

 private:
  const MemoryReader& copy_;
  const MemoryReader& memory_;
};

}  // namespace heapattach::ruby
