#include "inject/ptrace_control.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/thread_registers.h"
#include "attach/arch/vector_registers.h"
#include "attach/base/back_off.h"
#include "attach/base/ptrace_word.h"
#include "attach/process/process_status.h"
#include "attach/process/start_program.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// PTRACE_O_TRACESYSGOOD marks stops at system calls. The other options are those of the freeze
// (PtraceTracer::seize).
constexpr std::uintptr_t kOptions =
    PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
constexpr int kSystemCall = SIGTRAP | 0x80;

// The answer to PTRACE_GET_RSEQ_CONFIGURATION. <linux/ptrace.h> conflicts with <sys/ptrace.h>,
// which has the request on some systems only.
struct RseqAnswer {
  std::uint64_t area = 0;
  std::uint32_t area_bytes = 0;
  std::uint32_t signature = 0;
  std::uint32_t flags = 0;
  std::uint32_t unused = 0;
};
constexpr auto kGetRseqConfiguration = static_cast<__ptrace_request>(0x420f);
// The answer to PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG (since Linux 6.4).
struct DispatchAnswer {
  std::uint64_t mode = 0;  // PR_SYS_DISPATCH_OFF is 0
  std::uint64_t selector = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
constexpr auto kGetDispatch = static_cast<__ptrace_request>(0x4211);
constexpr auto kGetFilter = static_cast<__ptrace_request>(0x420c);  // since Linux 4.4

RemoteStop::Kind kind_of(int status) {
  using Kind = RemoteStop::Kind;
  if (!WIFSTOPPED(status)) return Kind::Ended;
  switch (status >> 16) {
    case 0: return WSTOPSIG(status) == kSystemCall ? Kind::SystemCall : Kind::Signal;
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK: return Kind::Born;
    case PTRACE_EVENT_STOP: return Kind::Stopped;
    default: return Kind::Passing;
  }
}

RemoteStop decode(pid_t tid, int status) {
  RemoteStop stop{.kind = kind_of(status)};
  if (stop.kind == RemoteStop::Kind::Signal) stop.signal = WSTOPSIG(status);
  if (WIFSIGNALED(status)) stop.signal = WTERMSIG(status);
  unsigned long other = 0;
  if (stop.kind == RemoteStop::Kind::Born &&
      ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &other) == 0) {
    stop.other = static_cast<pid_t>(other);
  }
  return stop;
}

}  // namespace

Result<std::unique_ptr<PtraceControl>> PtraceControl::open(const Process& target) {
  Fd reading = HA_TRY(LiveMemory::open_mem(target));
  Fd writing = HA_TRY(target.open_file("mem", O_RDWR));
  return std::unique_ptr<PtraceControl>(
      new PtraceControl(target, std::move(reading), std::move(writing)));
}

Result<RawRegisters> PtraceControl::registers(pid_t tid) {
  auto found = read_registers(tid);
  if (!found && found.error().kind == ErrorKind::Unsupported) {
    return Error{ErrorKind::Impossible, "it runs 32-bit code"};
  }
  return found;
}

Result<void> PtraceControl::set_registers(pid_t tid, const RawRegisters& values) {
  return write_registers(tid, values);
}

Result<std::uint64_t> PtraceControl::signal_mask(pid_t tid) {
  std::uint64_t mask = 0;
  HA_TRY(checked("PTRACE_GETSIGMASK",
                 ptrace(PTRACE_GETSIGMASK, tid, ptrace_word(sizeof mask), &mask)));
  return mask;
}

Result<void> PtraceControl::set_signal_mask(pid_t tid, std::uint64_t mask) {
  return checked("PTRACE_SETSIGMASK",
                 ptrace(PTRACE_SETSIGMASK, tid, ptrace_word(sizeof mask), &mask));
}

Result<RseqConfiguration> PtraceControl::rseq(pid_t tid) {
  RseqAnswer found;
  const long got = ptrace(kGetRseqConfiguration, tid, ptrace_word(sizeof found), &found);
  const int failure = errno;
  // Kernels before 5.13 cannot answer. This is an error, because the thread may be in a sequence.
  if (got < 0) return os_error("asking for its restartable sequences", failure);
  return RseqConfiguration{.area = {found.area}, .signature = found.signature};
}

Result<CallDispatch> PtraceControl::call_dispatch(pid_t tid) {
  DispatchAnswer found;
  if (ptrace(kGetDispatch, tid, ptrace_word(sizeof found), &found) < 0) {
    const int failure = errno;
    // EIO: the kernel does not know the request. EINVAL: it was built without the feature.
    if (failure == EIO || failure == EINVAL) return CallDispatch::Unknown;
    return os_error("asking whether its system calls are dispatched", failure);
  }
  return found.mode == 0 ? CallDispatch::Off : CallDispatch::On;
}

Result<std::vector<SeccompFilter>> PtraceControl::filters(pid_t tid) {
  std::vector<SeccompFilter> found;
  SeccompFilter room(BPF_MAXINSNS);
  for (std::uintptr_t number = 0;; ++number) {
    const long instructions = ptrace(kGetFilter, tid, ptrace_word(number), room.data());
    if (instructions < 0) {
      const int failure = errno;
      if (failure == ENOENT) return found;  // there are no more filters
      // EACCES: we lack CAP_SYS_ADMIN, or have a filter ourselves. EIO: the kernel cannot answer.
      return Error{ErrorKind::Denied, "its seccomp filter cannot be read", failure};
    }
    found.emplace_back(room.begin(), room.begin() + instructions);
  }
}

Result<std::vector<std::byte>> PtraceControl::extended_state(pid_t tid) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  std::vector<std::byte> values(kMost);
  iovec area{values.data(), values.size()};
  HA_TRY(checked("PTRACE_GETREGSET",
                 ptrace(PTRACE_GETREGSET, tid, ptrace_word(kExtendedState), &area)));
  if (area.iov_len < kLeastExtendedState || area.iov_len == kMost) {
    return Error{ErrorKind::Impossible, "the format of its extended registers is unknown"};
  }
  values.resize(area.iov_len);
  return values;
}

Result<bool> PtraceControl::has_wide_vectors(pid_t tid) {
  return uses_wide_vectors(tid);
}

Result<void> PtraceControl::set_extended_state(pid_t tid, std::span<const std::byte> values) {
  std::vector<std::byte> copy(values.begin(), values.end());
  iovec area{copy.data(), copy.size()};
  return checked("PTRACE_SETREGSET",
                 ptrace(PTRACE_SETREGSET, tid, ptrace_word(kExtendedState), &area));
}

Result<SignalOrigin> PtraceControl::signal_origin(pid_t tid) {
  siginfo_t told{};
  HA_TRY(checked("PTRACE_GETSIGINFO", ptrace(PTRACE_GETSIGINFO, tid, nullptr, &told)));
  SignalOrigin origin{.code = told.si_code, .sender = 0, .address = {}};
  if (told.si_code <= 0) {
    origin.sender = told.si_pid;
  } else {
    origin.address = RemoteAddr{std::bit_cast<std::uintptr_t>(told.si_addr)};
  }
  return origin;
}

Result<void> PtraceControl::write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) {
  const auto put = pwrite(mem_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value));
  if (put == static_cast<ssize_t>(bytes.size())) return {};
  // Since Linux 6.12, the kernel can be set to refuse writes through the file
  // (proc_mem.force_override), but not those through ptrace.
  for (std::size_t done = 0; done < bytes.size(); done += sizeof(long)) {
    long value = 0;
    const std::size_t count = std::min(sizeof value, bytes.size() - done);
    if (count < sizeof value) {
      errno = 0;
      value = ptrace(PTRACE_PEEKTEXT, tid, ptrace_word((at + done).value), nullptr);
      if (errno != 0) return os_error(fmt::format("reading at {}", at + done), errno);
    }
    std::memcpy(&value, bytes.data() + done, count);
    HA_TRY(checked(fmt::format("writing at {}", at + done),
                   ptrace(PTRACE_POKETEXT, tid, ptrace_word((at + done).value),
                          ptrace_word(static_cast<std::uintptr_t>(value)))));
  }
  return {};
}

Result<void> PtraceControl::run_to_call(pid_t tid, int signal) {
  HA_TRY(
      checked("PTRACE_SETOPTIONS", ptrace(PTRACE_SETOPTIONS, tid, nullptr, ptrace_word(kOptions))));
  return checked("PTRACE_SYSCALL",
                 ptrace(PTRACE_SYSCALL, tid, nullptr, ptrace_word(static_cast<unsigned>(signal))));
}

Result<void> PtraceControl::run_on(pid_t tid, int signal) {
  return checked("PTRACE_CONT",
                 ptrace(PTRACE_CONT, tid, nullptr, ptrace_word(static_cast<unsigned>(signal))));
}

Result<void> PtraceControl::interrupt(pid_t tid) {
  return checked("PTRACE_INTERRUPT", ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr));
}

Result<RemoteStop> PtraceControl::wait(pid_t tid, Clock::time_point deadline) {
  for (int round = 0; Clock::now() <= deadline; ++round) {
    int status = 0;
    const pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
    const int failure = errno;
    if (got > 0 && !WIFSTOPPED(status)) note_program_end(tid, status);
    if (got > 0) return decode(tid, status);
    if (got < 0 && failure == ECHILD) return RemoteStop{.kind = RemoteStop::Kind::Ended};
    if (got < 0 && failure != EINTR) return os_error("waitpid", failure);
    back_off(round, {.yields = 50, .longest_nanoseconds = 200'000});
  }
  return Error{ErrorKind::Timeout, fmt::format("thread {} did not return in time", tid)};
}

Result<void> PtraceControl::offer_to_oom_killer(pid_t pid) {
  constexpr std::string_view kFirst = "1000";
  constexpr std::size_t kMostStatus = 65536;
  // An open directory refers to the same process even if its pid is reused. We change only a
  // process that we trace.
  const Fd directory = HA_TRY(Fd::open(fmt::format("/proc/{}", pid), O_RDONLY | O_DIRECTORY));
  const Fd status = HA_TRY(Fd::open_at(directory, "status", O_RDONLY));
  if (parse_process_status(HA_TRY(read_all(status, kMostStatus))).tracer != gettid()) {
    return Error{ErrorKind::Gone, fmt::format("process {} is not traced by us", pid)};
  }
  const Fd file = HA_TRY(Fd::open_at(directory, "oom_score_adj", O_WRONLY));
  const auto put = ::write(file.get(), kFirst.data(), kFirst.size());
  const int failure = errno;
  if (put == static_cast<ssize_t>(kFirst.size())) return {};
  return os_error(fmt::format("offering process {} to the OOM killer", pid), failure);
}

Result<void> PtraceControl::detach(pid_t tid) {
  return checked("PTRACE_DETACH", ptrace(PTRACE_DETACH, tid, nullptr, nullptr));
}

void PtraceControl::kill(pid_t pid) noexcept {
  ::kill(pid, SIGKILL);
  // The parent can reap the process only after its tracer has.
  while (waitpid(pid, nullptr, __WALL) == -1 && errno == EINTR) {
  }
}

}  // namespace heapattach
