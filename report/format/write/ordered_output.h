#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>

#include "report/format/write/sink.h"

namespace heapattach {

// Lets workers that make the pieces of a text in parallel write them in order. Pieces are numbered
// from 0; each worker works on one piece at a time and takes its numbers in rising order, so the
// lowest unfinished piece is always being worked on and nobody waits for ever.
class OrderedOutput {
 public:
  explicit OrderedOutput(Sink& sink) : sink_(sink) {}

  // Waits until all pieces before `piece` are finished, then writes. False once anything failed.
  bool append(std::size_t piece, std::string_view bytes);
  // Nothing more comes for `piece`.
  void finish(std::size_t piece);
  // Makes every append fail from now on. The first error stays.
  void fail(Error error);

  [[nodiscard]] bool has_failed() const;
  // After all workers ended.
  [[nodiscard]] Result<void> result() const;

 private:
  Sink& sink_;
  mutable std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::size_t turn_ = 0;        // the piece that may write
  std::optional<Error> error_;  // the first
};

}  // namespace heapattach
