#include "symbols/cxx/constants.h"

#include <algorithm>
#include <cstring>

#include "symbols/elf/module_contents.h"

namespace heapattach::cxx {

namespace {

// Enough for the texts and the tables of two modules at a time.
constexpr std::size_t kPieces = 4;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

bool is_writable_at(const Module& module, RemoteAddr at) {
  const auto segments = module.segments();
  return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return segment.writable && segment.range.contains(at);
  });
}

}  // namespace

std::optional<std::uint64_t> Constants::word(std::uint64_t at) const {
  std::uint64_t word = 0;
  if (read(at, std::as_writable_bytes(std::span(&word, 1))) != sizeof word) return std::nullopt;
  return word;
}

std::size_t Constants::read(std::uint64_t at, std::span<std::byte> into) const {
  const auto found = piece_at(at, into.size());
  const std::size_t count = std::min(found.size(), into.size());
  if (count > 0) std::memcpy(into.data(), found.data(), count);
  return count;
}

std::span<const std::byte> Constants::piece_at(std::uint64_t at, std::size_t wanted) const {
  const auto part_of = [&](const Piece& piece) {
    return std::span(piece.bytes).subspan(at - piece.start);
  };
  for (const Piece& piece : pieces_) {
    if (at < piece.start || at - piece.start >= piece.bytes.size()) continue;
    if (part_of(piece).size() >= wanted) return part_of(piece);
  }
  if (pieces_.size() < kPieces) pieces_.resize(kPieces);
  Piece& piece = pieces_[oldest_];
  oldest_ = (oldest_ + 1) % kPieces;
  piece.start = at;
  piece.bytes.resize(kPieceBytes);
  piece.bytes.resize(read_from_source(at, piece.bytes));
  return piece.bytes;
}

std::size_t Constants::read_from_source(std::uint64_t at, std::span<std::byte> into) const {
  const Module* module = modules_.find(RemoteAddr{at});
  if (module != nullptr && !is_writable_at(*module, RemoteAddr{at})) {
    const std::size_t count = Module::Contents::read_file(*module, RemoteAddr{at}, into);
    if (count > 0) return count;
  }
  // Stops at the end of the relocated constants: the rest of the mapping may never have been used.
  if (module != nullptr && module->relro() && module->relro()->contains(RemoteAddr{at})) {
    into = into.first(std::min<std::uint64_t>(into.size(), module->relro()->end().value - at));
  }
  std::size_t count = 0;
  while (count < into.size()) {
    const auto more = memory_.read_some(RemoteAddr{at + count}, into.subspan(count));
    if (!more) break;
    count += *more;
  }
  return count;
}

}  // namespace heapattach::cxx
