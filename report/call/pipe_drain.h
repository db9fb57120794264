#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "attach/base/fd.h"

namespace heapattach {

// Reads everything from a pipe on a separate thread, while another process writes to it.
class PipeDrain {
 public:
  using Take = std::function<Result<void>(std::string_view)>;
  // If nothing is written for the length of `patience`, `then` is called, once.
  struct Stall {
    std::chrono::steady_clock::duration patience;
    std::function<void()> then;
  };

  // Calls `take` with each piece, on the separate thread. If `take` fails, closes the pipe so that
  // the writer stops.
  PipeDrain(Fd reading_end, Take take, std::optional<Stall> stall = {});
  ~PipeDrain() { static_cast<void>(finish()); }
  PipeDrain(const PipeDrain&) = delete;
  PipeDrain& operator=(const PipeDrain&) = delete;

  // Reads the rest and stops. Returns the error of `take`, if it failed.
  Result<void> finish();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void run();
  // Returns false at the end of the pipe, or if `take` has failed.
  bool take_piece(std::span<char> piece);
  void look_for_stall();

  Fd fd_;
  Take take_;
  std::optional<Stall> stall_;
  std::chrono::steady_clock::time_point written_at_ = std::chrono::steady_clock::now();
  std::atomic<bool> is_over_{false};  // there are no more writers
  std::atomic<std::uint64_t> bytes_{0};
  std::optional<Error> failure_;
  std::jthread thread_;
};

}  // namespace heapattach
