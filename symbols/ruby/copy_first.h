#pragma once

#include "attach/memory/capture.h"

namespace heapattach::ruby {

// What was copied need not be read again; the rest, such as constants, is still in the process.
class CopyFirst final : public MemoryReader {
 public:
  CopyFirst(const Capture& copy, const MemoryReader& memory) : copy_(copy), memory_(memory) {}

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override {
    auto got = copy_.read_some(from, into);
    return got ? got : memory_.read_some(from, into);
  }

 private:
  const Capture& copy_;
  const MemoryReader& memory_;
};

}  // namespace heapattach::ruby
