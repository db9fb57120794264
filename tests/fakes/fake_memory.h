#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "attach/memory_reader.h"

namespace heapattach {

// A target address space written by hand; whatever was not written faults. Reads stop at the end of
// each piece, so code that forgets about short reads fails here first.
class FakeMemory final : public MemoryReader {
 public:
  // Makes one piece of `bytes`. Pieces must not overlap; put and poke below write into them.
  void map(RemoteAddr at, std::vector<std::byte> bytes) { pieces_[at] = std::move(bytes); }
  void map_zero(RemoteAddr at, std::size_t bytes) { map(at, std::vector<std::byte>(bytes)); }

  // Writes `value` into the piece that holds `at`, or makes a piece of its own for it.
  template <class T>
  void put(RemoteAddr at, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(at, std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(RemoteAddr at, std::span<const std::byte> bytes) {
    auto piece = holding(at);
    if (piece == pieces_.end()) {
      map(at, {bytes.begin(), bytes.end()});
      return;
    }
    const std::size_t skip = at - piece->first;
    if (piece->second.size() < skip + bytes.size()) piece->second.resize(skip + bytes.size());
    std::copy(bytes.begin(), bytes.end(),
              piece->second.begin() + static_cast<std::ptrdiff_t>(skip));
  }

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    const auto piece = const_cast<FakeMemory*>(this)->holding(from);
    if (piece == pieces_.end()) {
      return Error{ErrorKind::Fault, fmt::format("no memory at {}", from)};
    }
    const std::size_t skip = from - piece->first;
    const std::size_t count = std::min(into.size(), piece->second.size() - skip);
    std::memcpy(into.data(), piece->second.data() + skip, count);
    return count;
  }

 private:
  using Pieces = std::map<RemoteAddr, std::vector<std::byte>>;

  Pieces::iterator holding(RemoteAddr at) {
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin()) return pieces_.end();
    --piece;
    return at - piece->first < piece->second.size() ? piece : pieces_.end();
  }

  Pieces pieces_;
};

}  // namespace heapattach
