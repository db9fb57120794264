#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/result.h"

namespace heapattach {

// What the work in a sandbox may use.
struct SandboxLimits {
  std::chrono::milliseconds time{60'000};
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // on top of what is mapped now
  std::uint64_t output_bytes = std::uint64_t{1} << 30;
  // Descriptors that the work reads; all others are closed. Given in ascending order or not.
  std::vector<int> descriptors;
};

// Where the work in a sandbox puts its result.
class SandboxOutput {
 public:
  explicit SandboxOutput(int fd) : fd_(fd) {}
  // Ends the worker if nobody reads.
  void write(std::span<const std::byte> bytes) const;

 private:
  int fd_;
};

struct SandboxResult {
  std::vector<std::byte> output;
  std::vector<std::string> notes;  // which of the walls could not be put up here, and why
};

// Runs `work` in a forked child that may compute, and read the descriptors it is given, and nothing
// else: no capability, no other user's rights, no new descriptors, no system call beyond a short
// list. Whatever becomes of the child (a crash, a loop, memory without end, too much output) comes
// back as an error that says so: "the worker was killed by signal 11". Where the kernel or a
// container refuses a system call filter, the work runs without one, and a note says so.
//
// To be called only while this process has one thread, because the child goes on using what it
// inherits (allocator, libraries) after the fork. Where this process has a guardian, the work gets
// a third of the time that is left at the most. `work` must not rely on destructors: the child ends
// with _exit.
Result<SandboxResult> run_sandboxed(const std::function<void(SandboxOutput&)>& work,
                                    const SandboxLimits& limits);

// Whether this process is such a worker, or has given up its rights otherwise (confined.h): then it
// parses by itself, and forks nobody for that.
[[nodiscard]] bool has_no_rights() noexcept;
// For fuzzers, which have nothing to lose.
void pretend_to_have_no_rights() noexcept;

}  // namespace heapattach
