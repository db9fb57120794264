#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"

namespace heapattach {

// A target address space written by hand; unwritten memory faults. Reads stop at the end of each
// piece, so code that forgets about short reads fails here first.
class FakeMemory final : public MemoryReader {
 public:
  // Makes one piece of `bytes`. Pieces must not overlap; put() and poke() write into them.
  void map(RemoteAddr at, std::vector<std::byte> bytes);
  void map_zero(RemoteAddr at, std::size_t bytes);

  // Writes `value` into the piece that contains `at`, or makes a new piece for it.
  template <class T>
  void put(RemoteAddr at, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(at, std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(RemoteAddr at, std::span<const std::byte> bytes);

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override;

 private:
  using Pieces = std::map<RemoteAddr, std::vector<std::byte>>;

  Pieces::iterator holding(RemoteAddr at);

  Pieces pieces_;
};

}  // namespace heapattach
