#include "attach/sandbox/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/base/pipe.h"
#include "attach/sandbox/confined.h"
#include "attach/sandbox/sandbox_worker.h"

namespace heapattach {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPipeBytes = 1 << 20;
constexpr int kNoReader = 103;

bool is_worker = false;

// Several files in a row may each take all the time they get; something must be left for the rest.
std::chrono::milliseconds share_of_time(const Deadline& deadline) {
  if (deadline.at == Clock::time_point::max()) return std::chrono::milliseconds::max();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.at - Clock::now());
  return std::max(left / 3, std::chrono::milliseconds(1));
}

// Everything from the pipe until its other end is closed.
Result<std::vector<std::byte>> drain(const Fd& pipe,
                                     const SandboxLimits& limits,
                                     Clock::time_point deadline) {
  std::vector<std::byte> bytes;
  // Not cleared: most workers return little.
  const auto piece = std::make_unique_for_overwrite<std::byte[]>(kPipeBytes);
  while (true) {
    if (!HA_TRY(wait_for_worker(pipe, limits, deadline))) continue;
    const ssize_t count = ::read(pipe.get(), piece.get(), kPipeBytes);
    const int os_errno = errno;
    if (count == 0) return bytes;
    if (count < 0 && os_errno == EINTR) continue;
    if (count < 0) return os_error("reading from the worker", os_errno);
    if (bytes.size() + static_cast<std::size_t>(count) > limits.output_bytes + 1) {
      return Error{ErrorKind::Malformed,
                   fmt::format("the worker wrote more than {} bytes", limits.output_bytes)};
    }
    bytes.insert(bytes.end(), piece.get(), piece.get() + count);
  }
}

}  // namespace

bool has_no_rights() noexcept {
  return is_worker || is_confined();
}

void pretend_to_have_no_rights(bool pretend) noexcept {
  is_worker = pretend;
}

void SandboxOutput::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(kNoReader);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

Result<SandboxResult> run_sandboxed(const std::function<void(SandboxOutput&)>& work,
                                    const SandboxLimits& wanted) {
  HA_TRY(wanted.deadline.check("starting a worker"));
  SandboxLimits limits = wanted;
  limits.time = std::min(limits.time, share_of_time(limits.deadline));
  Pipe pipe = HA_TRY(make_pipe("pipe2"));
  fcntl(pipe.reads.get(), F_SETPIPE_SZ, kPipeBytes);
  const auto deadline = Clock::now() + limits.time;
  Worker worker(HA_TRY(fork_worker(work, limits, pipe.writes.get(), false)));
  pipe.writes.reset();
  std::vector<std::byte> bytes = HA_TRY(drain(pipe.reads, limits, deadline));
  const auto status = worker.end_by(deadline);
  if (!status) return too_long(limits);
  HA_TRY(judge_worker(*status));
  if (bytes.empty()) return Error{ErrorKind::Malformed, "the worker returned nothing"};
  SandboxResult result;
  if (const auto note = greeting_note(bytes.front()); !note.empty()) {
    result.notes.emplace_back(note);
  }
  bytes.erase(bytes.begin());
  result.output = std::move(bytes);
  return result;
}

}  // namespace heapattach
