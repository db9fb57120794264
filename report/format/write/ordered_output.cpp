#include "report/format/write/ordered_output.h"

#include <utility>

namespace heapattach {

bool OrderedOutput::append(std::size_t piece, std::string_view bytes) {
  {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [&] { return turn_ == piece || error_; });
    if (error_) return false;
  }
  // Unlocked: only the piece whose turn it is uses the sink.
  auto written = sink_.write(bytes);
  if (written) return true;
  fail(std::move(written).error());
  return false;
}

void OrderedOutput::finish(std::size_t piece) {
  std::unique_lock lock(mutex_);
  turn_changed_.wait(lock, [&] { return turn_ == piece || error_; });
  if (!error_) ++turn_;
  turn_changed_.notify_all();
}

void OrderedOutput::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  turn_changed_.notify_all();
}

bool OrderedOutput::has_failed() const {
  const std::lock_guard lock(mutex_);
  return error_.has_value();
}

Result<void> OrderedOutput::result() const {
  const std::lock_guard lock(mutex_);
  if (error_) return *error_;
  return {};
}

}  // namespace heapattach
