#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "report/format/export/export_options.h"
#include "report/format/write/gzip.h"

namespace heapattach {

// Buffers output for a sink, a megabyte at a time, and compresses it if requested. Keeps the first
// failure (of the sink or the deadline) for finish(), and drops all output after it; has_failed()
// shows that continuing is useless.
class ExportStream {
 public:
  ExportStream(Sink& sink, const ExportOptions& options)
      : ExportStream(sink, options, options.with_gzip) {}
  // For formats that decide about compression themselves.
  ExportStream(Sink& sink, const ExportOptions& options, bool with_gzip);

  void put(std::string_view bytes) {
    if (bytes.size() > kBufferBytes - used_) return put_in_parts(bytes);
    if (!bytes.empty()) std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  void put(char letter) { *room(1) = letter, ++used_; }
  void put_decimal(std::uint64_t value) {
    char* const at = room(kMostNumberBytes);
    used_ += static_cast<std::size_t>(std::to_chars(at, at + kMostNumberBytes, value).ptr - at);
  }
  // Writes hex digits without "0x".
  void put_hex(std::uint64_t value) {
    char* const at = room(kMostNumberBytes);
    used_ += static_cast<std::size_t>(std::to_chars(at, at + kMostNumberBytes, value, 16).ptr - at);
  }
  // Writes eight bytes, little-endian.
  void put_word(std::uint64_t value) {
    std::memcpy(room(sizeof value), &value, sizeof value);
    used_ += sizeof value;
  }

  [[nodiscard]] bool has_failed() const { return error_.has_value(); }
  // Reports the number of objects written so far.
  void progress(std::uint64_t objects) const {
    if (options_.on_progress) options_.on_progress(objects);
  }
  // Writes the remaining output.
  Result<void> finish();

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostNumberBytes = 24;

  char* room(std::size_t bytes) {
    if (bytes > kBufferBytes - used_) flush();
    return buffer_.data() + used_;
  }
  void put_in_parts(std::string_view bytes);
  void flush();

  Sink& sink_;
  const ExportOptions& options_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::optional<GzipMembers> gzip_;
  std::optional<Error> error_;
};

}  // namespace heapattach
