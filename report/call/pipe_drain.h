#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "attach/fd.h"

namespace heapattach {

// Reads everything from a pipe, on a thread of its own, while another process fills it.
class PipeDrain {
 public:
  using Take = std::function<Result<void>(std::string_view)>;

  // `take` is called on that thread. After an error from it the pipe is closed, so that the writer
  // ends.
  PipeDrain(Fd reading_end, Take take);
  ~PipeDrain() { static_cast<void>(finish()); }
  PipeDrain(const PipeDrain&) = delete;
  PipeDrain& operator=(const PipeDrain&) = delete;

  // Takes the rest, and ends. Returns the first error, if there was one.
  Result<void> finish();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void run();
  // False at the end.
  bool take_piece(std::span<char> piece);

  Fd fd_;
  Take take_;
  std::atomic<bool> is_over_{false};  // there are no writers any more
  std::atomic<std::uint64_t> bytes_{0};
  std::optional<Error> failure_;
  std::jthread thread_;
};

}  // namespace heapattach
