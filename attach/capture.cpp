#include "attach/capture.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "attach/check.h"
#include "attach/window.h"

namespace heapattach {

namespace {

// Pieces keep their address modulo this, so what is aligned in the target is aligned here.
constexpr std::size_t kAlignment = 64;

}  // namespace

Capture::Capture(Arena arena) : arena_(std::move(arena)) {}
Capture::~Capture() = default;

Result<void> Capture::add(const MemoryReader& memory,
                          std::span<const Range> ranges,
                          const CopyLimits& limits) {
  const auto room = arena_.bytes();
  std::vector<Copy> copies;
  copies.reserve(ranges.size());
  std::vector<Piece> placed;
  std::size_t used = used_;
  for (const Range& range : ranges) {
    if (range.bytes == 0) continue;
    HA_CHECK(range.start <= range.end());
    const bool adjoins = !placed.empty() && placed.back().range.end() == range.start;
    if (!adjoins) used += (range.start.value - used) % kAlignment;
    if (used > room.size() || range.bytes > room.size() - used) {
      return Error{ErrorKind::Os,
                   fmt::format("copying {} bytes at {}: only {} bytes were reserved for the copy",
                               range.bytes, range.start, room.size()),
                   ENOMEM};
    }
    copies.push_back({range.start, room.subspan(used, range.bytes)});
    if (adjoins) {
      placed.back().range.bytes += range.bytes;
    } else {
      placed.push_back({range, room.data() + used});
    }
    used += range.bytes;
  }
  const auto holes = HA_TRY(memory.copy_all(copies, limits));

  used_ = used;
  holes_.insert(holes_.end(), holes.begin(), holes.end());
  std::sort(holes_.begin(), holes_.end());
  add_pieces(placed);
  return {};
}

Result<void> Capture::add_window(Fd mem, std::span<const Range> ranges, std::size_t limit) {
  HA_CHECK(!window_);
  window_ = HA_TRY(Window::open(std::move(mem), ranges, limit));
  std::vector<Piece> shown;
  shown.reserve(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    shown.push_back({ranges[i], window_->begin_of(i)});
  }
  add_pieces(shown);
  return {};
}

void Capture::add_pieces(std::span<const Piece> added) {
  const auto middle = pieces_.insert(pieces_.end(), added.begin(), added.end());
  const auto by_address = [](const Piece& a, const Piece& b) { return a.range < b.range; };
  std::sort(middle, pieces_.end(), by_address);
  std::inplace_merge(pieces_.begin(), middle, pieces_.end(), by_address);
}

std::span<const std::byte> Capture::bytes_from(RemoteAddr at) const {
  auto after = std::upper_bound(
      pieces_.begin(), pieces_.end(), at,
      [](RemoteAddr addr, const Piece& piece) { return addr < piece.range.start; });
  if (after == pieces_.begin()) return {};
  const Piece& piece = *--after;
  if (!piece.range.contains(at)) return {};
  const std::size_t skipped = at - piece.range.start;
  return {piece.data + skipped, piece.range.bytes - skipped};
}

void Capture::release() {
  pieces_.clear();
  window_.reset();
  arena_.reset();
  used_ = 0;
}

Result<std::size_t> Capture::read_some(RemoteAddr from, std::span<std::byte> into) const {
  const auto copied = bytes_from(from);
  if (copied.empty() && !into.empty()) {
    return Error{ErrorKind::Fault, fmt::format("{} was not copied", from)};
  }
  const std::size_t count = std::min(copied.size(), into.size());
  if (count > 0) std::memcpy(into.data(), copied.data(), count);
  return count;
}

}  // namespace heapattach
