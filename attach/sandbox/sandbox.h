#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"

namespace heapattach {

// Limits on the work in a sandbox.
struct SandboxLimits {
  std::chrono::milliseconds time{60'000};
  // When the whole run must end. A worker that run_sandboxed() starts gets at most a third of the
  // time left.
  Deadline deadline{};
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // in addition to what is mapped now
  std::uint64_t output_bytes = std::uint64_t{1} << 30;
  // Descriptors that the work reads, in any order. All others are closed.
  std::vector<int> descriptors;
};

// Receives the result of the work in a sandbox.
class SandboxOutput {
 public:
  explicit SandboxOutput(int fd) : fd_(fd) {}
  // Ends the worker if the reader is gone.
  void write(std::span<const std::byte> bytes) const;

 private:
  int fd_;
};

struct SandboxResult {
  std::vector<std::byte> output;
  std::vector<std::string> notes;  // which protections are unavailable here, and why
};

// Runs `work` in a forked child that can compute and read the given descriptors, but do nothing
// else: it has no capabilities, cannot act as another user, and can open no descriptors and make no
// system calls outside a short list. Any failure of the child (a crash, a loop, unlimited memory,
// too much output) becomes an error: "the worker was killed by signal 11". If the kernel or a
// container refuses a system call filter, the work runs without one, and there is a note.
//
// Call it only while this process has one thread, because the child uses inherited state
// (allocator, libraries) after the fork. `work` must not rely on destructors: the child ends with
// _exit.
Result<SandboxResult> run_sandboxed(const std::function<void(SandboxOutput&)>& work,
                                    const SandboxLimits& wanted);

// Whether this process is such a worker, or has given up its rights in another way (confined.h). If
// so, it parses input itself instead of forking a worker.
[[nodiscard]] bool has_no_rights() noexcept;
// For fuzzers and for tests of thousands of files, which do not need the protection.
void pretend_to_have_no_rights(bool pretend = true) noexcept;

}  // namespace heapattach
