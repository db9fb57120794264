#include "report/trace/waiting_stacks.h"

#include <algorithm>
#include <utility>

namespace heapattach::trace {

namespace {

std::size_t bytes_of(const unwind::StackSample& stack) {
  return sizeof stack + stack.stack.size();
}

}  // namespace

void WaitingStacks::add(unwind::StackSample stack) {
  bytes_ += bytes_of(stack);
  stacks_.push_back(std::move(stack));
}

std::span<const unwind::StackSample> WaitingStacks::batch() const {
  return std::span(stacks_).first(std::min(most_, stacks_.size()));
}

void WaitingStacks::remove(std::size_t count, std::chrono::nanoseconds took) {
  for (std::size_t i = 0; i < count; ++i) bytes_ -= bytes_of(stacks_[i]);
  stacks_.erase(stacks_.begin(), stacks_.begin() + static_cast<std::ptrdiff_t>(count));
  // A smaller batch than allowed says little about the time for a whole one.
  if (took > kMoment) {
    most_ = std::max(kLeast, most_ / 2);
  } else if (count >= most_ && took < kMoment / 2) {
    most_ *= 2;
  }
}

}  // namespace heapattach::trace
