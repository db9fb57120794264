#pragma once

#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"

namespace heapattach {

// Copies of the stacks of some threads, starting at the red zone.
class StackCopies final : public MemoryReader {
 public:
  // The limit per stack. Unreadable parts are omitted.
  static constexpr std::uint64_t kMostOfEach = std::uint64_t{256} << 10;

  void add(const FrozenThread& thread, const MemoryMap& map, const MemoryReader& memory);

  void clear() { pieces_.clear(); }

  // The end of the stack that contains `at`, if it was copied that far; otherwise 0.
  [[nodiscard]] RemoteAddr end_of_stack(RemoteAddr at) const;
  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

 private:
  struct Piece {
    Range range;
    bool is_to_the_end = false;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] const Piece* piece_with(RemoteAddr at) const;

  std::vector<Piece> pieces_;
};

}  // namespace heapattach
