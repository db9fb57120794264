#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "attach/capture.h"

namespace heapattach::glibc {

// Reads words of a capture. Remembers the piece that it read last, because most reads are close to
// the one before. Borrows the capture; not safe for several threads at once.
class Words {
 public:
  explicit Words(const Capture& capture) : capture_(capture) {}

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
  // Where the captured memory around `from` ends; `from` itself if it was not captured.
  [[nodiscard]] RemoteAddr end_of(RemoteAddr from) const { return from + bytes_from(from).size(); }

 private:
  [[nodiscard]] std::span<const std::byte> bytes_from(RemoteAddr from) const {
    if (from < start_ || from.value - start_.value >= piece_.size()) {
      const auto found = capture_.bytes_from(from);
      if (found.empty()) return {};
      piece_ = found;
      start_ = from;
    }
    return piece_.subspan(from - start_);
  }

  const Capture& capture_;
  mutable std::span<const std::byte> piece_;  // starts at start_
  mutable RemoteAddr start_{};
};

}  // namespace heapattach::glibc
