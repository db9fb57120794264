#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>

#include "report/format/write/sink.h"

namespace heapattach {

// Lets workers that format pieces of a text in parallel write them in order. Pieces are numbered
// from 0. Each worker processes one piece at a time and takes numbers in ascending order, so some
// worker is always processing the lowest unfinished piece, and none waits forever.
class OrderedOutput {
 public:
  explicit OrderedOutput(Sink& sink) : sink_(sink) {}

  // Waits until all pieces before `piece` are finished, then writes. Returns false once anything
  // has failed.
  bool append(std::size_t piece, std::string_view bytes);
  // Declares that `piece` is complete.
  void finish(std::size_t piece);
  // Makes every later append fail. The first error is kept.
  void fail(Error error);

  [[nodiscard]] bool has_failed() const;
  // Call it after all workers have ended.
  [[nodiscard]] Result<void> result() const;

 private:
  Sink& sink_;
  mutable std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::size_t turn_ = 0;        // the piece that may write
  std::optional<Error> error_;  // the first
};

}  // namespace heapattach
