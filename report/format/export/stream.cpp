#include "report/format/export/stream.h"

#include <algorithm>
#include <utility>

namespace heapattach {

ExportStream::ExportStream(Sink& sink, const ExportOptions& options, bool with_gzip)
    : sink_(sink), options_(options), buffer_(kBufferBytes) {
  if (with_gzip) gzip_.emplace();
}

void ExportStream::put_in_parts(std::string_view bytes) {
  while (!bytes.empty()) {
    if (used_ == kBufferBytes) flush();
    const std::string_view part = bytes.substr(0, kBufferBytes - used_);
    put(part);
    bytes.remove_prefix(part.size());
  }
}

void ExportStream::flush() {
  const std::string_view bytes(buffer_.data(), std::exchange(used_, 0));
  if (error_ || bytes.empty()) return;
  auto written = options_.deadline.check("writing the report");
  if (written) written = sink_.write(gzip_ ? gzip_->compress(bytes) : bytes);
  if (!written) error_ = std::move(written).error();
}

Result<void> ExportStream::finish() {
  flush();
  if (error_) return *error_;
  return {};
}

}  // namespace heapattach
