#include "attach/sandbox/fed_worker.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "attach/base/pipe.h"

namespace heapattach {
namespace {

constexpr int kPipeBytes = 1 << 20;

Result<Pipe> make_large_pipe() {
  Pipe pipe = HA_TRY(make_pipe("pipe2"));
  fcntl(pipe.reads.get(), F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

}  // namespace

FedWorker::FedWorker(Fd input, Fd output, pid_t pid, const SandboxLimits& limits)
    : input_(std::move(input)),
      output_(std::move(output)),
      limits_(limits),
      deadline_(Worker::Clock::now() + limits.time),
      worker_(pid) {}

Result<std::unique_ptr<FedWorker>> FedWorker::start(const Work& work, const SandboxLimits& limits) {
  HA_TRY(limits.deadline.check("starting a worker"));
  Pipe to_worker = HA_TRY(make_large_pipe());
  Pipe from_worker = HA_TRY(make_large_pipe());
  SandboxLimits inside = limits;
  inside.descriptors = {to_worker.reads.get()};
  const auto in_worker = [&](SandboxOutput& output) { work(std::move(to_worker.reads), output); };
  const pid_t pid = HA_TRY(fork_worker(in_worker, inside, from_worker.writes.get(), true));
  return std::unique_ptr<FedWorker>(
      new FedWorker(std::move(to_worker.writes), std::move(from_worker.reads), pid, limits));
}

Result<void> FedWorker::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(input_.get(), bytes.data(), bytes.size());
    const int os_errno = errno;
    if (count < 0 && os_errno == EINTR) continue;
    if (count <= 0) return os_error("writing to the worker", os_errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> FedWorker::take_all(std::span<std::byte> to) {
  while (!to.empty()) {
    if (!HA_TRY(wait_for_worker(output_, limits_, deadline_))) continue;
    const ssize_t count = ::read(output_.get(), to.data(), to.size());
    const int os_errno = errno;
    if (count < 0 && os_errno == EINTR) continue;
    if (count < 0) return os_error("reading from the worker", os_errno);
    if (count == 0) {
      HA_TRY(finish());  // why it ended
      return Error{ErrorKind::Malformed, "the worker's answer is too short"};
    }
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> FedWorker::take(std::span<std::byte> to) {
  if (!is_greeted_) {
    std::byte greeting{};
    HA_TRY(take_all({&greeting, 1}));
    is_greeted_ = true;
    note_ = greeting_note(greeting);
  }
  return take_all(to);
}

Result<void> FedWorker::finish() {
  input_.reset();
  const auto status = worker_.end_by(deadline_);
  if (!status) return too_long(limits_);
  return judge_worker(*status);
}

}  // namespace heapattach
