#pragma once

#include <optional>
#include <string>

#include "report/format/write/sink.h"

namespace heapattach {

// A Sink that keeps what is written, and fails once it holds `limit_bytes`, like a full disk.
class MemorySink final : public Sink {
 public:
  Result<void> write(std::string_view bytes) override {
    if (limit_bytes && text.size() + bytes.size() > *limit_bytes) {
      return Error{ErrorKind::Os, "write report.jsonl: No space left on device"};
    }
    text += bytes;
    ++writes;
    return {};
  }
  Result<void> finish() override {
    is_finished = true;
    return {};
  }

  std::string text;
  int writes = 0;
  bool is_finished = false;
  std::optional<std::size_t> limit_bytes;
};

}  // namespace heapattach
