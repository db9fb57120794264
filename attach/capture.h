#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "attach/fd.h"
#include "attach/memory_reader.h"

namespace heapattach {

// Memory of ours, reserved and touched before the freeze so that copying does not fault.
class Arena {
 public:
  // Reserves address space for `bytes`, and touches the first `touched` of them on all cores.
  static Result<Arena> reserve(std::size_t bytes, std::size_t touched);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {begin_, size_}; }

 private:
  Arena(std::byte* begin, std::size_t size) noexcept : begin_(begin), size_(size) {}

  std::byte* begin_ = nullptr;  // null after a move
  std::size_t size_ = 0;
};

class Window;

// A copy of parts of the target's memory, readable as the target was at the freeze.
class Capture final : public MemoryReader {
 public:
  explicit Capture(Arena arena);
  ~Capture() override;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Copies `ranges` (sorted, disjoint) into what is left of the arena; may be called again with
  // further ranges that do not overlap the earlier ones. Holes are remembered and read as zero.
  Result<void> add(const MemoryReader& memory,
                   std::span<const Range> ranges,
                   const CopyLimits& limits);

  // Instead of copying them, shows `ranges` through a window on the memory behind `mem`, of which
  // at most about `limit` bytes are here at any time. Once, and with what window.h asks for.
  Result<void> add_window(Fd mem, std::span<const Range> ranges, std::size_t limit);
  // Null if there is none.
  [[nodiscard]] Window* window() const { return window_.get(); }

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

  // The copy of what stood at `at`, as far as it goes on without a break; empty if not copied.
  // Holds for the capture's life, also after further adds.
  [[nodiscard]] std::span<const std::byte> bytes_from(RemoteAddr at) const;
  [[nodiscard]] const std::vector<Range>& holes() const { return holes_; }

 private:
  struct Piece {
    Range range;
    const std::byte* data = nullptr;  // in the arena, or in the window
  };
  void add_pieces(std::span<const Piece> added);

  Arena arena_;
  std::unique_ptr<Window> window_;
  std::size_t used_ = 0;
  std::vector<Piece> pieces_;  // sorted by address
  std::vector<Range> holes_;
};

}  // namespace heapattach
