#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "attach/base/fd.h"
#include "attach/memory/memory_reader.h"

namespace heapattach {

// Memory in this process, reserved and touched before the freeze so that copying causes no page
// faults.
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
  // Fills a part of it with zeros. What was never touched has no other contents.
  void clear(std::span<std::byte> part) noexcept;
  // Only a little of this part will be touched, here and there: not in huge pages.
  void use_small_pages(std::span<std::byte> part) noexcept;
  // Gives the memory away. What was touched is used again (spare_memory.h).
  void reset() noexcept;

 private:
  Arena(std::byte* begin, std::size_t size) noexcept : begin_(begin), size_(size) {}

  std::byte* begin_ = nullptr;  // null after a move
  std::size_t size_ = 0;
  std::size_t touched_ = 0;
};

class Window;

// A copy of parts of the target's memory, as they were at the freeze.
class Capture final : public MemoryReader {
 public:
  explicit Capture(Arena arena);
  ~Capture() override;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Copies `ranges` (sorted, disjoint) into the free part of the arena. May be called again with
  // ranges that do not overlap the earlier ones. Unreadable holes are recorded, and read as zero.
  Result<void> add(const MemoryReader& memory,
                   std::span<const Range> ranges,
                   const CopyLimits& limits);

  // Copies memory of which only `parts` have contents, each within one of `ranges`. The rest is not
  // copied and reads as zero.
  Result<void> add_parts(const MemoryReader& memory,
                         std::span<const Range> ranges,
                         std::span<const Range> parts,
                         const CopyLimits& limits);

  // Copies `parts` of what add_parts() has added, which were not among its parts.
  Result<void> fill(const MemoryReader& memory,
                    std::span<const Range> parts,
                    const CopyLimits& limits);

  // Instead of copying, shows `ranges` of `mem` (a /proc/<pid>/mem) through a window that keeps at
  // most about `limit` bytes here. May be called once; window.h lists the conditions.
  Result<void> add_window(Fd mem, std::span<const Range> ranges, std::size_t limit);
  // Null unless add_window() was called.
  [[nodiscard]] const Window* window() const { return window_.get(); }
  // Call it when the window's process has ended: what the window shows reads as zero from then on.
  void end_window();
  // How many threads may read this at a time without hindering each other. Each access to memory
  // outside an open window stops all of them for a moment, to move the window.
  [[nodiscard]] unsigned most_readers() const { return has_open_window_ ? 1 : ~0U; }
  [[nodiscard]] bool has_open_window() const { return has_open_window_; }

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

  // The copied bytes from `at` to the end of its piece; empty if not copied. Valid for as long as
  // the capture exists, even after further calls to add().
  [[nodiscard]] std::span<const std::byte> bytes_from(RemoteAddr at) const;
  [[nodiscard]] const std::vector<Range>& holes() const { return holes_; }

  // Gives the copy away, but for the holes. Spans that bytes_from() returned are no longer valid.
  void release();

 private:
  struct Piece {
    Range range;
    const std::byte* data = nullptr;  // in the arena, or in the window
  };
  // The piece that contains `at`; null if there is none.
  [[nodiscard]] const Piece* piece_at(RemoteAddr at) const;
  Result<void> copy(const MemoryReader& memory,
                    std::span<const Copy> copies,
                    const CopyLimits& limits);
  // Finds room for `ranges` from `used` on, and moves it.
  Result<std::vector<Piece>> place(std::span<const Range> ranges, std::size_t& used) const;
  [[nodiscard]] std::span<std::byte> room_for(const Piece& piece, Range part) const;
  void add_pieces(std::span<const Piece> added);

  Arena arena_;
  std::unique_ptr<Window> window_;
  bool has_open_window_ = false;
  std::size_t used_ = 0;
  std::vector<Piece> pieces_;  // sorted by address
  std::vector<Range> holes_;
};

}  // namespace heapattach
