#include "attach/memory/capture.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "attach/base/check.h"
#include "attach/base/near_search.h"
#include "attach/base/page.h"
#include "attach/memory/window.h"

namespace heapattach {

namespace {

// Pieces keep their address modulo this, so what is aligned in the target is aligned here.
constexpr std::size_t kAlignment = 64;
// In pieces this large, whole pages of the copy can be left untouched.
constexpr std::size_t kLarge = 1U << 20;

}  // namespace

Capture::Capture(Arena arena) : arena_(std::move(arena)) {}
Capture::~Capture() = default;

Result<void> Capture::add(const MemoryReader& memory,
                          std::span<const Range> ranges,
                          const CopyLimits& limits) {
  return add_parts(memory, ranges, ranges, limits);
}

Result<void> Capture::add_parts(const MemoryReader& memory,
                                std::span<const Range> ranges,
                                std::span<const Range> parts,
                                const CopyLimits& limits) {
  std::size_t used = used_;
  const std::vector<Piece> placed = HA_TRY(place(ranges, used));
  std::vector<Copy> copies;
  copies.reserve(parts.size());
  auto part = parts.begin();
  for (const Piece& piece : placed) {
    RemoteAddr done = piece.range.start;
    std::uint64_t touched = 0;
    for (; part != parts.end() && part->start < piece.range.end(); ++part) {
      if (part->bytes == 0) continue;
      HA_CHECK(part->start >= done && part->end() <= piece.range.end());
      arena_.clear(room_for(piece, {done, part->start - done}));
      copies.push_back({part->start, room_for(piece, *part)});
      done = part->end();
      touched += part->bytes;
    }
    arena_.clear(room_for(piece, {done, piece.range.end() - done}));
    if (piece.range.bytes >= kLarge && touched < piece.range.bytes / 4) {
      arena_.use_small_pages(room_for(piece, piece.range));
    }
  }
  HA_TRY(copy(memory, copies, limits));
  used_ = used;
  add_pieces(placed);
  return {};
}

Result<void> Capture::fill(const MemoryReader& memory,
                           std::span<const Range> parts,
                           const CopyLimits& limits) {
  std::vector<Copy> copies;
  for (const Range& part : parts) {
    const Piece* const piece = piece_at(part.start);
    HA_CHECK(piece != nullptr && part.end() <= piece->range.end());
    copies.push_back({part.start, room_for(*piece, part)});
  }
  return copy(memory, copies, limits);
}

Result<void> Capture::copy(const MemoryReader& memory,
                           std::span<const Copy> copies,
                           const CopyLimits& limits) {
  const auto holes = HA_TRY(memory.copy_all(copies, limits));
  holes_.insert(holes_.end(), holes.begin(), holes.end());
  std::sort(holes_.begin(), holes_.end());
  return {};
}

Result<std::vector<Capture::Piece>> Capture::place(std::span<const Range> ranges,
                                                   std::size_t& used) const {
  const auto room = arena_.bytes();
  std::vector<Piece> placed;
  for (const Range& range : ranges) {
    if (range.bytes == 0) continue;
    HA_CHECK(range.start <= range.end());
    const bool adjoins = !placed.empty() && placed.back().range.end() == range.start;
    const std::size_t alignment = range.bytes >= kLarge ? kLeastPageBytes : kAlignment;
    if (!adjoins) used += (range.start.value - used) % alignment;
    if (used > room.size() || range.bytes > room.size() - used) {
      return Error{ErrorKind::Os,
                   fmt::format("copying {} bytes at {}: only {} bytes were reserved for the copy",
                               range.bytes, range.start, room.size()),
                   ENOMEM};
    }
    if (adjoins) {
      placed.back().range.bytes += range.bytes;
    } else {
      placed.push_back({range, room.data() + used});
    }
    used += range.bytes;
  }
  return placed;
}

std::span<std::byte> Capture::room_for(const Piece& piece, Range part) const {
  const auto room = arena_.bytes();
  const auto at = static_cast<std::size_t>(piece.data - room.data());
  return room.subspan(at + (part.start - piece.range.start), part.bytes);
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
  has_open_window_ = true;
  return {};
}

void Capture::end_window() {
  window_->forget();
  has_open_window_ = false;
}

void Capture::add_pieces(std::span<const Piece> added) {
  const auto middle = pieces_.insert(pieces_.end(), added.begin(), added.end());
  const auto by_address = [](const Piece& a, const Piece& b) { return a.range < b.range; };
  if (!std::is_sorted(middle, pieces_.end(), by_address)) {
    std::sort(middle, pieces_.end(), by_address);
  }
  std::inplace_merge(pieces_.begin(), middle, pieces_.end(), by_address);
}

const Capture::Piece* Capture::piece_at(RemoteAddr at) const {
  // Most questions are about addresses near the last one.
  thread_local std::size_t hint = 0;
  const auto begin = pieces_.begin();
  const auto guess = begin + static_cast<std::ptrdiff_t>(std::min(hint, pieces_.size()));
  const auto after = partition_point_near(
      begin, pieces_.end(), guess, [at](const Piece& piece) { return piece.range.start <= at; });
  hint = static_cast<std::size_t>(after - begin);
  if (after == begin || !std::prev(after)->range.contains(at)) return nullptr;
  return &*std::prev(after);
}

std::span<const std::byte> Capture::bytes_from(RemoteAddr at) const {
  const Piece* const piece = piece_at(at);
  if (piece == nullptr) return {};
  const std::size_t skipped = at - piece->range.start;
  return {piece->data + skipped, piece->range.bytes - skipped};
}

void Capture::release() {
  pieces_.clear();
  window_.reset();
  has_open_window_ = false;
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
