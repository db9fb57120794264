#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Encodes the result of a sandboxed worker as a sequence of numbers and texts. The worker may be
// under an attacker's control, so the reader has to check what the numbers mean.
namespace heapattach {

class PlainWriter {
 public:
  template <class T>
  void number(T value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  void flag(bool value) { number(static_cast<std::uint8_t>(value)); }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    raw(std::as_bytes(std::span(text)));
  }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void optional(const std::optional<T>& value) {
    flag(value.has_value());
    if (value) number(*value);
  }
  template <class T, class Write>
  void list(const std::vector<T>& elements, const Write& write) {
    number(static_cast<std::uint32_t>(elements.size()));
    for (const T& element : elements) write(element);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads until an element does not fit; from then on, returns zeros and empty texts.
class PlainReader {
 public:
  explicit PlainReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value{};
    if (!has(sizeof value)) return value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  bool flag() { return number<std::uint8_t>() != 0; }
  std::string_view text(std::size_t longest) {
    const auto size = number<std::uint32_t>();
    if (size > longest || !has(size)) {
      fail();
      return {};
    }
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  template <class T>
  std::optional<T> optional() {
    if (!flag()) return std::nullopt;
    return number<T>();
  }
  // Calls `read` for each element. The number of elements is limited to what the bytes can hold.
  template <class Read>
  void list(const Read& read) {
    const auto count = number<std::uint32_t>();
    if (count > rest_.size()) fail();
    for (std::uint32_t left = count; left > 0 && is_good_; --left) read();
  }
  void fail_unless(bool makes_sense) {
    if (!makes_sense) fail();
  }
  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  bool has(std::size_t bytes) {
    if (rest_.size() < bytes) fail();
    return is_good_;
  }
  void fail() {
    is_good_ = false;
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  bool is_good_ = true;
};

}  // namespace heapattach
