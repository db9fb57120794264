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

// Takes in what comes out of a pipe, on a thread of its own, while somebody fills it.
class PipeDrain {
 public:
  using Take = std::function<Result<void>(std::string_view)>;

  // `take` is called on that thread. After an error of it the pipe is closed, so that whoever
  // writes comes to an end.
  PipeDrain(Fd reading_end, Take take);
  ~PipeDrain() { static_cast<void>(finish()); }
  PipeDrain(const PipeDrain&) = delete;
  PipeDrain& operator=(const PipeDrain&) = delete;

  // Takes what is there still, and ends. The first error, if there was one.
  Result<void> finish();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void run();
  // False at the end.
  bool take_piece(std::span<char> piece);

  Fd fd_;
  Take take_;
  std::atomic<bool> is_over_{false};  // nobody writes any more
  std::atomic<std::uint64_t> bytes_{0};
  std::optional<Error> failure_;
  std::jthread thread_;
};

}  // namespace heapattach
