#include "tests/fakes/fake_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace heapattach {

void FakeMemory::map(RemoteAddr at, std::vector<std::byte> bytes) {
  pieces_[at] = std::move(bytes);
}

void FakeMemory::map_zero(RemoteAddr at, std::size_t bytes) {
  map(at, std::vector<std::byte>(bytes));
}

void FakeMemory::put_bytes(RemoteAddr at, std::span<const std::byte> bytes) {
  auto piece = holding(at);
  if (piece == pieces_.end()) {
    map(at, {bytes.begin(), bytes.end()});
    return;
  }
  const std::size_t skip = at - piece->first;
  if (piece->second.size() < skip + bytes.size()) piece->second.resize(skip + bytes.size());
  std::copy(bytes.begin(), bytes.end(), piece->second.begin() + static_cast<std::ptrdiff_t>(skip));
}

Result<std::size_t> FakeMemory::read_some(RemoteAddr from, std::span<std::byte> into) const {
  const auto piece = const_cast<FakeMemory*>(this)->holding(from);
  if (piece == pieces_.end()) {
    return Error{ErrorKind::Fault, fmt::format("no memory at {}", from)};
  }
  const std::size_t skip = from - piece->first;
  const std::size_t count = std::min(into.size(), piece->second.size() - skip);
  std::memcpy(into.data(), piece->second.data() + skip, count);
  return count;
}

FakeMemory::Pieces::iterator FakeMemory::holding(RemoteAddr at) {
  auto piece = pieces_.upper_bound(at);
  if (piece == pieces_.begin()) return pieces_.end();
  --piece;
  return at - piece->first < piece->second.size() ? piece : pieces_.end();
}

}  // namespace heapattach
