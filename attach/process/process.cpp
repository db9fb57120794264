#include "attach/process/process.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <memory>

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/base/directory.h"
#include "attach/base/fault_points.h"
#include "attach/base/guardian.h"
#include "attach/base/interrupt.h"

namespace heapattach {

namespace {

// Longer than any text in /proc: 65,530 mappings with paths of 4,096 characters.
constexpr std::size_t kLongestFileBytes = std::size_t{512} * 1024 * 1024;

Result<Fd> open_pidfd(pid_t pid) {
  const long fd = fault_at(FaultPoint::PidfdOpen) ? -1 : syscall(SYS_pidfd_open, pid, 0);
  const int failure = errno;
  if (fd >= 0) return Fd(static_cast<int>(fd));
  // ENOSYS before Linux 5.3; some seccomp filters answer EPERM, which the call itself never does.
  if (failure == ENOSYS || failure == EPERM) return Fd();
  return os_error("pidfd_open", failure);
}

Result<Fd> open_directory(pid_t pid) {
  auto directory = Fd::open(fmt::format("/proc/{}", pid), O_RDONLY | O_DIRECTORY);
  if (directory || directory.error().os_errno != ENOENT) return directory;
  // /proc mounted with hidepid=2 hides the processes of others.
  if (kill(pid, 0) == 0 || errno == EPERM) {
    return Error{ErrorKind::Denied,
                 fmt::format("/proc/{} is hidden from us: /proc is mounted with hidepid, or "
                             "belongs to another pid namespace",
                             pid),
                 EPERM}
        .advise(::geteuid() == 0 ? "running in the pid namespace of the target"
                                 : "run as root, or as the target's user");
  }
  return Error{ErrorKind::Gone, fmt::format("there is no process {}", pid), ESRCH};
}

Error unsupported(std::string message) {
  return {ErrorKind::Unsupported, std::move(message)};
}

// If the program cannot be opened, the first read of registers finds out the same.
Result<void> check_is_64_bit(const Process& process) {
  const auto exe = process.open_file("exe", O_RDONLY);
  if (!exe) return {};
  std::array<unsigned char, EI_NIDENT> ident{};
  if (read(exe->get(), ident.data(), ident.size()) != EI_NIDENT) return {};
  if (ident[EI_CLASS] != ELFCLASS32) return {};
  return unsupported(fmt::format(
      "process {} runs a 32-bit program; only 64-bit programs are supported", process.pid()));
}

// Gone if the thread has ended since the threads were listed: the kernel then reports ENOENT,
// although the process may still run.
Result<std::string> read_of_thread(const Process& process, pid_t tid, std::string_view file) {
  if (tid == process.pid()) return process.read_file(std::string(file));
  auto text = process.read_file(fmt::format("task/{}/{}", tid, file));
  if (text || text.error().kind == ErrorKind::Gone || text.error().os_errno != ENOENT) return text;
  return Error{ErrorKind::Gone, fmt::format("thread {} ended", tid), ESRCH};
}

}  // namespace

Result<Process> Process::open(pid_t pid) {
  Process process = HA_TRY(open_copy(pid));
  HA_TRY(check_is_64_bit(process));
  return process;
}

Result<Process> Process::open_copy(pid_t pid) {
  if (pid < 1) return unsupported(fmt::format("{} is not a process id", pid));
  if (pid == getpid() || pid == guardian_pid()) {
    return unsupported("heapattach cannot attach to itself");
  }
  auto pidfd = open_pidfd(pid);
  const int failure = pidfd ? 0 : pidfd.error().os_errno;
  const bool is_of_thread = failure == EINVAL || failure == ENOENT;  // since Linux 6.9; see below
  if (!pidfd && pidfd.error().kind != ErrorKind::Gone && !is_of_thread) {
    return std::move(pidfd).error().context(fmt::format("process {}", pid));
  }
  Fd directory = HA_TRY(open_directory(pid));
  Process process(pid, std::move(directory), pidfd ? std::move(*pidfd) : Fd(), 0);
  const auto state = HA_TRY(process.thread_state(pid));
  process.start_ticks_ = state.start_ticks;
  if (state.is_kernel_thread()) {
    return unsupported(fmt::format("{} ({}) is a kernel thread", pid, state.name));
  }
  const auto status = HA_TRY(process.thread_status(pid));
  HA_TRY(check_is_process(pid, status));
  // A zombie with other threads is a first thread that ended before them.
  if (state.is_exiting() && state.threads <= 1) {
    return Error{
        ErrorKind::Gone,
        fmt::format(
            "process {} ({}) is a zombie: it has exited, but its parent has not reaped it yet", pid,
            state.name)}
        .advise(fmt::format("its parent, process {}", state.parent));
  }
  // The directory may have been opened just after the number was reused; the descriptor opened
  // first is dead then.
  if (!process.is_alive()) return Error{ErrorKind::Gone, fmt::format("process {} exited", pid)};
  return process;
}

bool Process::is_alive() const {
  if (!pidfd_.empty()) {
    pollfd waiting{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    const int ready = fault_at(FaultPoint::PidfdPoll) ? -1 : poll(&waiting, 1, 0);
    if (ready >= 0) return ready == 0;  // readable once the last thread has ended
  }
  // Not read_file: that one calls this function to explain its errors.
  const auto file = Fd::open_at(directory_, "stat", O_RDONLY);
  if (!file) return false;
  const auto text = read_all(*file, kLongestFileBytes);
  if (!text) return false;
  const auto state = parse_thread_state(*text);
  return state && (!state->is_exiting() || state->threads > 1);
}

Result<pid_t> Process::live_tid() const {
  if (const auto leader = thread_state(pid_); leader && !leader->is_exiting()) return pid_;
  const auto listing = HA_TRY(list_threads());
  for (const pid_t tid : listing.tids) {
    if (const auto state = thread_state(tid); state && !state->is_exiting()) return tid;
  }
  return Error{ErrorKind::Gone, fmt::format("process {} exited", pid_), ESRCH};
}

Result<std::string> Process::live_name(const std::string& name) const {
  // After its end, only the first thread's own numbers remain available.
  if (name.starts_with("task") || name == "stat" || name == "status") return name;
  const pid_t tid = HA_TRY(live_tid());
  return tid == pid_ ? name : fmt::format("task/{}/{}", tid, name);
}

// An operation that fails because the process is gone should say so: the kernel answers ENOENT or
// ESRCH.
Error Process::explained(Error error) const {
  const bool may_be_gone = error.os_errno == ENOENT || error.os_errno == ESRCH;
  if (may_be_gone && !is_alive()) {
    return {ErrorKind::Gone, fmt::format("process {} exited", pid_), error.os_errno};
  }
  return std::move(error).context(fmt::format("process {}", pid_));
}

Result<Fd> Process::open_file(const std::string& name, int flags) const {
  constexpr int kTries = 20;
  for (int i = 1;; ++i) {
    const std::string live = HA_TRY(live_name(name));
    auto file = Fd::open_at(directory_, live, flags);
    if (file) return file;
    // The thread that we used instead of the ended first thread may have ended too.
    const int failure = file.error().os_errno;
    const bool may_be_late = live != name && (failure == ENOENT || failure == ESRCH);
    if (!may_be_late || i == kTries) return explained(std::move(file).error());
  }
}

Result<std::string> Process::read_file(const std::string& name) const {
  const Fd file = HA_TRY(open_file(name, O_RDONLY));
  auto text = read_all(file, kLongestFileBytes);
  if (!text) return explained(std::move(text).error().context(name));
  if (text->size() == kLongestFileBytes) {
    return Error{ErrorKind::Malformed, fmt::format("{} of process {} is too long", name, pid_)};
  }
  return text;
}

Result<std::string> Process::read_link(const std::string& name) const {
  const std::string live = HA_TRY(live_name(name));
  std::array<char, PATH_MAX + 1> target{};
  const auto length = fault_at(FaultPoint::ReadLink) ? -1
                                                     : readlinkat(directory_.get(), live.c_str(),
                                                                  target.data(), target.size());
  const int failure = errno;
  if (length < 0) return explained(os_error(fmt::format("readlink {}", live), failure));
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<MemoryMap> Process::maps() const {
  return read_maps([this] { return read_file("maps"); }, pid_);
}

// The kernel shows the map in pieces. Mappings that are joined, split or moved in between do not
// fit together: since Linux 6.17 not even their order is certain.
Result<MemoryMap> read_maps(const std::function<Result<std::string>()>& read, pid_t pid) {
  constexpr int kReadings = 50;
  for (int reading = 1;; ++reading) {
    const std::string text = HA_TRY(read());
    // The kernel shows an exited process as one without memory.
    if (text.empty()) return Error{ErrorKind::Gone, fmt::format("process {} exited", pid), ESRCH};
    auto map = parse_maps(text);
    if (map) return map;
    if (reading == kReadings) {
      return std::move(map).error().context(fmt::format("read {} times", kReadings));
    }
    HA_TRY(check_interrupt());
  }
}

Result<ThreadListing> Process::list_threads() const {
  Fd task = HA_TRY(open_file("task", O_RDONLY | O_DIRECTORY));
  const Directory entries(fdopendir(task.get()));
  if (!entries) return os_error("fdopendir", errno);
  const int fd = task.release();  // the DIR closes it
  ThreadListing listing;
  for (;;) {
    errno = 0;
    const dirent* entry = fault_at(FaultPoint::ListThreads) ? nullptr : readdir(entries.get());
    const int failure = errno;
    if (entry == nullptr && failure != 0) return explained(os_error("list task", failure));
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid > 0) listing.tids.push_back(tid);
  }
  // A listing ends early when the thread that it has reached exits (fs/proc/base.c: next_tid). The
  // link count is the number of threads plus two (proc_task_getattr).
  struct stat now {};
  const int failed = fault_at(FaultPoint::StatTaskDirectory) ? -1 : fstat(fd, &now);
  listing.is_whole = failed == 0 && now.st_nlink == listing.tids.size() + 2;
  return listing;
}

Result<ThreadState> Process::thread_state(pid_t tid) const {
  const auto text = read_of_thread(*this, tid, "stat");
  if (!text) return text.error();
  return parse_thread_state(*text);
}

Result<ProcessStatus> Process::thread_status(pid_t tid) const {
  const auto text = read_of_thread(*this, tid, "status");
  if (!text) return text.error();
  return parse_process_status(*text);
}

}  // namespace heapattach
