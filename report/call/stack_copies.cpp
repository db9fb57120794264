#include "report/call/stack_copies.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace heapattach {

namespace {

constexpr std::uint64_t kRedZoneBytes = 128;

}  // namespace

void StackCopies::add(const FrozenThread& thread,
                      const MemoryMap& map,
                      const MemoryReader& memory) {
  if (!thread.registers) return;
  const RemoteAddr from = thread.registers->stack_pointer - kRedZoneBytes;
  const Mapping* mapping = map.find(from);
  if (mapping == nullptr || !mapping->readable) return;
  const std::uint64_t wanted = mapping->range.end() - from;
  Piece piece;
  piece.bytes.resize(std::min(wanted, kMostOfEach));
  const auto got = memory.read_some(from, piece.bytes);
  if (!got) return;
  piece.bytes.resize(*got);
  piece.range = {from, *got};
  piece.is_to_the_end = *got == wanted;
  pieces_.push_back(std::move(piece));
}

const StackCopies::Piece* StackCopies::piece_with(RemoteAddr at) const {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(),
                                  [at](const Piece& piece) { return piece.range.contains(at); });
  return found == pieces_.end() ? nullptr : &*found;
}

RemoteAddr StackCopies::end_of_stack(RemoteAddr at) const {
  // A frame may end where its stack does.
  const Piece* piece = piece_with(at - 1);
  return piece != nullptr && piece->is_to_the_end ? piece->range.end() : RemoteAddr{};
}

Result<std::size_t> StackCopies::read_some(RemoteAddr from, std::span<std::byte> into) const {
  const Piece* piece = piece_with(from);
  if (piece == nullptr) return Error{ErrorKind::Fault, fmt::format("{} was not kept", from)};
  const std::uint64_t offset = from - piece->range.start;
  const auto count = std::min<std::size_t>(into.size(), piece->bytes.size() - offset);
  std::memcpy(into.data(), piece->bytes.data() + offset, count);
  return count;
}

}  // namespace heapattach
