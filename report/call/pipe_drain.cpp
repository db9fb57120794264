#include "report/call/pipe_drain.h"

#include <cerrno>
#include <csignal>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace heapattach {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr int kLookEveryMs = 10;

}  // namespace

PipeDrain::PipeDrain(Fd reading_end, Take take, std::optional<Stall> stall)
    : fd_(std::move(reading_end)),
      take_(std::move(take)),
      stall_(std::move(stall)),
      thread_([this] { run(); }) {}

Result<void> PipeDrain::finish() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
  if (failure_) return *failure_;
  return {};
}

void PipeDrain::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the main thread handles signals
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const bool is_last_look = is_over_;
    pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&wanted, 1, is_last_look ? 0 : kLookEveryMs);
    if (ready > 0 && (wanted.revents & POLLIN) != 0) {
      if (!take_piece(piece)) return;
    } else if (is_last_look || (ready > 0 && (wanted.revents & POLLHUP) != 0)) {
      return;
    } else {
      look_for_stall();
    }
  }
}

void PipeDrain::look_for_stall() {
  if (!stall_ || std::chrono::steady_clock::now() - written_at_ < stall_->patience) return;
  stall_->then();
  stall_.reset();
}

bool PipeDrain::take_piece(std::span<char> piece) {
  const ssize_t got = ::read(fd_.get(), piece.data(), piece.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  bytes_ += static_cast<std::uint64_t>(got);
  written_at_ = std::chrono::steady_clock::now();
  if (auto taken = take_({piece.data(), static_cast<std::size_t>(got)}); !taken) {
    failure_ = std::move(taken).error();
    fd_ = Fd();  // the writer gets SIGPIPE
    return false;
  }
  return true;
}

}  // namespace heapattach
