#pragma once

#include <cstdint>
#include <span>

#include <linux/filter.h>

namespace heapattach {

// The risks of a thread that makes a system call under a seccomp filter, the least first.
enum class FilterEffect : std::uint8_t {
  Runs,     // the call is made
  MayFail,  // or it returns an error at once
  MayHarm,  // or the thread is killed, gets a signal, or waits for another process to decide
};

// The worst that the filter may do about the system call `number`, whatever its arguments are:
// every path through the filter that they could lead to counts.
[[nodiscard]] FilterEffect effect_of(std::span<const sock_filter> filter, long number);

}  // namespace heapattach
