#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/base/page.h"
#include "attach/memory/capture.h"

namespace heapattach::glibc {

// Reads words of a capture, or of memory that was not copied. Remembers the piece that it read
// last, because most reads are close to the one before. Borrows its source; not safe for several
// threads at once.
class Words {
 public:
  // Only `touched` (sorted) has contents; if it is empty, all captured memory has contents.
  explicit Words(const Capture& capture, std::span<const Range> touched = {})
      : capture_(&capture), touched_(touched) {}
  // Reads `memory` page by page, and keeps what it read.
  explicit Words(const MemoryReader& memory) : memory_(&memory) {}

  [[nodiscard]] std::optional<std::uint64_t> at(RemoteAddr from) const {
    const auto bytes = bytes_from(from);
    if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    return word;
  }
  [[nodiscard]] std::uint64_t at_or_zero(RemoteAddr from) const { return at(from).value_or(0); }
  template <class T>
  [[nodiscard]] T small_at(RemoteAddr from) const {
    T value{};
    const auto bytes = bytes_from(from);
    if (bytes.size() >= sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  [[nodiscard]] bool has(RemoteAddr from) const { return at(from).has_value(); }
  // The end of the captured memory around `from`; `from` itself if it was not captured.
  [[nodiscard]] RemoteAddr end_of(RemoteAddr from) const { return from + bytes_from(from).size(); }

  // The first address from `at` on that has contents; beyond all memory if there is none.
  [[nodiscard]] RemoteAddr next_touched(RemoteAddr at) const {
    if (touched_.empty()) return at;
    if (next_ == touched_.size() || touched_[next_].start > at || touched_[next_].end() <= at) {
      next_ = static_cast<std::size_t>(
          std::partition_point(touched_.begin(), touched_.end(),
                               [&](const Range& range) { return range.end() <= at; }) -
          touched_.begin());
    }
    if (next_ == touched_.size()) return RemoteAddr{std::uint64_t{1} << 63};
    return std::max(at, touched_[next_].start);
  }

 private:
  [[nodiscard]] std::span<const std::byte> bytes_from(RemoteAddr from) const {
    if (from < start_ || from.value - start_.value >= piece_.size()) {
      const auto found = capture_ != nullptr ? capture_->bytes_from(from) : page_from(from);
      if (found.empty()) return {};
      piece_ = found;
      start_ = from;
    }
    return piece_.subspan(from - start_);
  }

  // The bytes from `from` to the end of its page. A page that cannot be read is kept as an empty
  // one.
  [[nodiscard]] std::span<const std::byte> page_from(RemoteAddr from) const {
    constexpr std::size_t kMostPages = 16384;
    const std::uint64_t within = from.value % kLeastPageBytes;
    const RemoteAddr start = from - within;
    if (pages_.size() >= kMostPages) {
      piece_ = {};
      pages_.clear();
    }
    const auto [page, is_new] = pages_.try_emplace(start.value);
    if (is_new) {
      page->second.resize(kLeastPageBytes);
      if (!memory_->read(start, page->second)) page->second.clear();
    }
    const std::span<const std::byte> bytes(page->second);
    return within < bytes.size() ? bytes.subspan(within) : std::span<const std::byte>();
  }

  const Capture* capture_ = nullptr;
  const MemoryReader* memory_ = nullptr;  // used if there is no capture
  mutable std::unordered_map<std::uint64_t, std::vector<std::byte>> pages_;
  mutable std::span<const std::byte> piece_;  // starts at start_
  mutable RemoteAddr start_{};
  std::span<const Range> touched_;
  mutable std::size_t next_ = 0;  // an index into `touched_`, near the last address asked for
};

}  // namespace heapattach::glibc
