#pragma once

#include <string>

#include "report/format/write/sink.h"

namespace heapattach {

// Collects a report in memory.
class TextSink final : public Sink {
 public:
  explicit TextSink(std::string& text) : text_(text) {}

  Result<void> write(std::string_view bytes) override {
    text_ += bytes;
    return {};
  }
  Result<void> finish() override { return {}; }

 private:
  std::string& text_;
};

}  // namespace heapattach
