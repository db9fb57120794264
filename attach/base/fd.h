#pragma once

#include <string>
#include <utility>

#include "attach/base/result.h"

namespace heapattach {

// Owns one open file descriptor. Empty after a move or release().
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  // Opens `path` with O_CLOEXEC added to `flags`.
  static Result<Fd> open(const std::string& path, int flags);
  // From now on, open() calls `open_for_us` instead: this process may no longer open files itself.
  using Opener = Result<Fd> (*)(const std::string& path, int flags);
  static void open_through(Opener open_for_us) noexcept;
  // Opens `path` relative to the directory `at`. Error messages include the path of `at`.
  static Result<Fd> open_at(const Fd& at, const std::string& path, int flags);

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool empty() const noexcept { return fd_ < 0; }

  // Hands the descriptor to the caller, who must close it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

// Reads a file whose size is not known in advance, such as one in /proc, up to `limit_bytes`.
Result<std::string> read_all(const Fd& fd, std::size_t limit_bytes);

}  // namespace heapattach
