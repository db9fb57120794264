#pragma once

#include <string_view>

#include "attach/base/result.h"

namespace heapattach {

// The destination of a report. Writers know nothing about files, pipes or memory.
class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Writes all of `bytes`, or fails permanently. Called from one thread at a time.
  virtual Result<void> write(std::string_view bytes) = 0;
  // Call it when the report is complete, so that it appears under its name. Without this call,
  // nothing appears there.
  virtual Result<void> finish() = 0;
};

}  // namespace heapattach
