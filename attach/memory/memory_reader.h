#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "attach/base/remote_addr.h"
#include "attach/base/result.h"

namespace heapattach {

// A piece of the target to copy, and its destination.
struct Copy {
  RemoteAddr from;
  std::span<std::byte> into;
};

// The limits of a bulk copy.
struct CopyLimits {
  unsigned workers = 1;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // The target has written to nearly all of it, so the lookup of untouched pages is skipped.
  bool are_touched = false;
};

// Reads the target's memory. Everything above attach/ sees the target only through this interface,
// so tests substitute a FakeMemory. Safe to use from several threads at once.
class MemoryReader {
 public:
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;
  virtual ~MemoryReader() = default;

  // Reads at least one byte into `into` and returns the number read. Fault if `from` itself is
  // unreadable.
  [[nodiscard]] virtual Result<std::size_t> read_some(RemoteAddr from,
                                                      std::span<std::byte> into) const = 0;

  // Fills `into`, or fails with a Fault that names the first address it could not read.
  Result<void> read(RemoteAddr from, std::span<std::byte> into) const;

  // Performs all `copies`. Fills unreadable ranges with zeros and returns them. Fails only if the
  // process ends (Gone) or the deadline passes (Timeout). The default implementation reads one
  // range at a time.
  [[nodiscard]] virtual Result<std::vector<Range>> copy_all(std::span<const Copy> copies,
                                                            const CopyLimits& limits) const;

  // Reads one value. The caller must make sure that T has the target's layout.
  template <class T>
  Result<T> read_as(RemoteAddr from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    HA_TRY(read(from, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }

 protected:
  MemoryReader() = default;
};

}  // namespace heapattach
