#include "report/stacks/system_calls.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "attach/arch/system_calls.h"

namespace heapattach::stacks {

namespace {

// How to read the arguments of a call.
enum class Shape : std::uint8_t {
  Plain,       // not at all
  Descriptor,  // the first is a descriptor
  Futex,
  Epoll,
  Poll,
  Select,
  Sleep,       // the first points to a time
  ClockSleep,  // a clock, flags, and a pointer to a time
  Child,       // the first is a process
  WaitId,      // the second is
};

struct Known {
  long number;
  const char* name;
  Shape shape;
};

// The blocking calls.
constexpr std::array kKnown = {
    Known{SYS_read, "read", Shape::Descriptor},
    Known{SYS_write, "write", Shape::Descriptor},
    Known{SYS_readv, "readv", Shape::Descriptor},
    Known{SYS_writev, "writev", Shape::Descriptor},
    Known{SYS_pread64, "pread64", Shape::Descriptor},
    Known{SYS_pwrite64, "pwrite64", Shape::Descriptor},
    Known{SYS_accept, "accept", Shape::Descriptor},
    Known{SYS_accept4, "accept4", Shape::Descriptor},
    Known{SYS_connect, "connect", Shape::Descriptor},
    Known{SYS_recvfrom, "recvfrom", Shape::Descriptor},
    Known{SYS_recvmsg, "recvmsg", Shape::Descriptor},
    Known{SYS_recvmmsg, "recvmmsg", Shape::Descriptor},
    Known{SYS_sendto, "sendto", Shape::Descriptor},
    Known{SYS_sendmsg, "sendmsg", Shape::Descriptor},
    Known{SYS_ioctl, "ioctl", Shape::Descriptor},
    Known{SYS_fcntl, "fcntl", Shape::Descriptor},
    Known{SYS_flock, "flock", Shape::Descriptor},
    Known{SYS_fsync, "fsync", Shape::Descriptor},
    Known{SYS_fdatasync, "fdatasync", Shape::Descriptor},
    Known{SYS_close, "close", Shape::Descriptor},
    Known{SYS_splice, "splice", Shape::Descriptor},
    Known{SYS_sendfile, "sendfile", Shape::Plain},
    Known{SYS_futex, "futex", Shape::Futex},
    Known{kEpollWait, "epoll_wait", Shape::Epoll},
    Known{SYS_epoll_pwait, "epoll_pwait", Shape::Epoll},
    Known{441, "epoll_pwait2", Shape::Epoll},
    Known{kPoll, "poll", Shape::Poll},
    Known{SYS_ppoll, "ppoll", Shape::Poll},
    Known{kSelect, "select", Shape::Select},
    Known{SYS_pselect6, "pselect6", Shape::Select},
    Known{SYS_nanosleep, "nanosleep", Shape::Sleep},
    Known{SYS_clock_nanosleep, "clock_nanosleep", Shape::ClockSleep},
    Known{SYS_wait4, "wait4", Shape::Child},
    Known{SYS_waitid, "waitid", Shape::WaitId},
    Known{kPause, "pause", Shape::Plain},
    Known{SYS_rt_sigsuspend, "rt_sigsuspend", Shape::Plain},
    Known{SYS_rt_sigtimedwait, "rt_sigtimedwait", Shape::Plain},
    Known{SYS_semop, "semop", Shape::Plain},
    Known{SYS_semtimedop, "semtimedop", Shape::Plain},
    Known{SYS_msgrcv, "msgrcv", Shape::Plain},
    Known{SYS_msgsnd, "msgsnd", Shape::Plain},
    Known{SYS_mq_timedreceive, "mq_timedreceive", Shape::Descriptor},
    Known{SYS_mq_timedsend, "mq_timedsend", Shape::Descriptor},
    Known{SYS_io_getevents, "io_getevents", Shape::Plain},
    Known{426, "io_uring_enter", Shape::Descriptor},
    Known{kOpen, "open", Shape::Plain},
    Known{SYS_openat, "openat", Shape::Plain},
    Known{kVfork, "vfork", Shape::Plain},
    Known{SYS_restart_syscall, "restart_syscall", Shape::Plain},
};

constexpr std::uint64_t kMostPolled = 16;
constexpr std::uint64_t kTimeBytes = 16;
constexpr std::uint64_t kFutexBytes = 56;  // the size of the C libraries' locks
constexpr std::uint64_t kPolledBytes = sizeof(pollfd);
constexpr std::uint64_t kAbsolute = 1;  // TIMER_ABSTIME

const Known* known(const SystemCall& call) {
  const auto* const found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) {
    return std::cmp_equal(one.number, call.number);
  });
  return found == kKnown.end() ? nullptr : found;
}

Shape shape_of(const SystemCall& call) {
  const Known* const one = known(call);
  return one == nullptr ? Shape::Plain : one->shape;
}

// "10.5 s", "11 days".
std::string duration(double seconds) {
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  if (seconds < 999.5) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * kDay) return fmt::format("{:.0f} hours", seconds / kHour);
  if (seconds < 1000 * kDay) return fmt::format("{:.0f} days", seconds / kDay);
  return fmt::format("{:.3g} years", seconds / (365.25 * kDay));
}

// The seconds in a struct timespec; none if it cannot be one.
std::optional<double> seconds_at(std::uint64_t address, const MemoryReader& capture) {
  const auto time = capture.read_as<std::array<std::int64_t, 2>>(RemoteAddr{address});
  constexpr std::int64_t kBillion = 1'000'000'000;
  if (!time || (*time)[0] < 0 || (*time)[1] < 0 || (*time)[1] >= kBillion) return {};
  return static_cast<double>((*time)[0]) + static_cast<double>((*time)[1]) / 1e9;
}

std::string time_at(std::uint64_t address, const MemoryReader& capture) {
  const auto seconds = seconds_at(address, capture);
  return seconds ? duration(*seconds) : std::string();
}

std::string descriptor(std::uint64_t number, Descriptors& descriptors) {
  const auto fd = static_cast<std::int32_t>(number);
  if (fd < 0) return fmt::format("{}", fd);
  const std::string what = descriptors.what_is(static_cast<std::uint64_t>(fd));
  return what.empty() ? fmt::format("{}", fd) : fmt::format("{}: {}", fd, what);
}

std::string timeout_ms(std::uint64_t argument) {
  const auto ms = static_cast<std::int32_t>(argument);
  return ms < 0 ? "no timeout" : fmt::format("timeout {} ms", ms);
}

std::string polled(const SystemCall& call, const MemoryReader& capture, Descriptors& descriptors) {
  const std::uint64_t count = call.arguments[1];
  std::string text;
  for (std::uint64_t i = 0; i < std::min(count, kMostPolled); ++i) {
    const auto one = capture.read_as<pollfd>(RemoteAddr{call.arguments[0] + i * kPolledBytes});
    if (!one) break;
    std::string direction;
    if ((one->events & POLLIN) != 0) direction += " in";
    if ((one->events & POLLOUT) != 0) direction += " out";
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ",
                        descriptor(static_cast<std::uint32_t>(one->fd), descriptors), direction);
  }
  if (count > kMostPolled) text += fmt::format(", … of {}", count);
  if (text.empty()) text = fmt::format("{} descriptors", count);
  if (call.number == static_cast<std::uint64_t>(kPoll)) {
    return fmt::format("{}; {}", text, timeout_ms(call.arguments[2]));
  }
  return text;
}

// The end of a wait: "11 days left", a date, or the time since boot if that is all that is known.
// `now` is the time of CLOCK_MONOTONIC.
std::string end_of_wait(std::uint64_t clock,
                        double until,
                        std::optional<std::chrono::nanoseconds> now) {
  if (clock == CLOCK_MONOTONIC && now) {
    const double left = until - std::chrono::duration<double>(*now).count();
    return duration(std::max(left, 0.0)) + " left";
  }
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_BOOTTIME_ALARM) {
    return fmt::format("until {} after boot", duration(until));
  }
  constexpr double kLatest = 253'402'300'799;  // in the year 9999
  const bool is_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM;
  if (!is_date || until > kLatest) {
    return fmt::format("until {:.0f} s on clock {}", until, clock);
  }
  return fmt::format("until {:%F %T} UTC", fmt::gmtime(static_cast<std::time_t>(until)));
}

std::string futex_timeout(const SystemCall& call,
                          const MemoryReader& capture,
                          std::optional<std::chrono::nanoseconds> now) {
  const auto time = seconds_at(call.arguments[3], capture);
  if (!time) return "with a timeout";
  const auto operation = static_cast<int>(call.arguments[1]);
  const int command = operation & FUTEX_CMD_MASK;
  if (command == FUTEX_WAIT) return "timeout " + duration(*time);
  const bool is_date = (operation & FUTEX_CLOCK_REALTIME) != 0 || command == FUTEX_LOCK_PI;
  return end_of_wait(is_date ? CLOCK_REALTIME : CLOCK_MONOTONIC, *time, now);
}

std::string futex(const SystemCall& call,
                  const MemoryReader& capture,
                  std::optional<std::chrono::nanoseconds> now) {
  std::string text = fmt::format("{}", RemoteAddr{call.arguments[0]});
  const auto value = capture.read_as<std::uint32_t>(RemoteAddr{call.arguments[0]});
  if (value) text += fmt::format(" holding {:#x}", *value);
  if (call.arguments[3] != 0) text += ", " + futex_timeout(call, capture, now);
  return text;
}

std::string epoll(const SystemCall& call, Descriptors& descriptors) {
  std::string text = fmt::format("{}", static_cast<std::int32_t>(call.arguments[0]));
  if (const auto count = descriptors.watched_by(call.arguments[0])) {
    text += fmt::format(": watches {} descriptor{}", *count, *count == 1 ? "" : "s");
  }
  const bool has_milliseconds = call.number != 441;
  return has_milliseconds ? fmt::format("{}; {}", text, timeout_ms(call.arguments[3])) : text;
}

std::string clock_sleep(const SystemCall& call,
                        const MemoryReader& capture,
                        std::optional<std::chrono::nanoseconds> now) {
  const auto until = seconds_at(call.arguments[2], capture);
  if (!until || (call.arguments[1] & kAbsolute) == 0) return until ? duration(*until) : "";
  return end_of_wait(call.arguments[0], *until, now);
}

std::string child(std::uint64_t argument) {
  const auto pid = static_cast<std::int32_t>(argument);
  if (pid == -1) return "any child";
  return pid > 0 ? fmt::format("child {}", pid) : fmt::format("children of group {}", -pid);
}

std::string arguments_of(const SystemCall& call,
                         const MemoryReader& capture,
                         Descriptors& descriptors,
                         std::optional<std::chrono::nanoseconds> now) {
  switch (shape_of(call)) {
    case Shape::Descriptor: return descriptor(call.arguments[0], descriptors);
    case Shape::Futex: return futex(call, capture, now);
    case Shape::Epoll: return epoll(call, descriptors);
    case Shape::Poll: return polled(call, capture, descriptors);
    case Shape::Select: return fmt::format("descriptors below {}", call.arguments[0]);
    case Shape::Sleep: return time_at(call.arguments[0], capture);
    case Shape::ClockSleep: return clock_sleep(call, capture, now);
    case Shape::Child: return child(call.arguments[0]);
    case Shape::WaitId: return child(call.arguments[1]);
    case Shape::Plain: break;
  }
  return {};
}

// From the code that made the call, which ends before `behind`.
std::optional<std::uint64_t> number_in_code(RemoteAddr behind, const Modules& modules) {
  const Module* const module = modules.find(behind);
  if (module == nullptr || behind.value < kCodeBeforeCall) return {};
  const auto code = module->file_bytes(behind - kCodeBeforeCall);
  if (code.size() < kCodeBeforeCall) return {};
  for (const std::uint64_t number : numbers_loaded(code.first(kCodeBeforeCall))) {
    if (known({number, {}}) != nullptr) return number;
  }
  return {};
}

}  // namespace

std::optional<SystemCall> call_of(const Registers& registers, const Modules& modules) {
  if (!registers.system_call) return {};
  SystemCall call{*registers.system_call, call_arguments(registers)};
  if (call.number == SYS_restart_syscall) {
    call.number = number_in_code(registers.instruction_pointer, modules).value_or(call.number);
  }
  return call;
}

std::string name_of(const SystemCall& call) {
  const Known* const one = known(call);
  return one == nullptr ? fmt::format("system call {}", call.number) : one->name;
}

std::vector<Range> memory_of(const SystemCall& call) {
  const auto at = [&](std::size_t argument, std::uint64_t bytes) -> std::vector<Range> {
    const RemoteAddr start{call.arguments[argument]};
    if (start.value == 0 || start.value + bytes < start.value) return {};
    return {{start, bytes}};
  };
  switch (shape_of(call)) {
    case Shape::Futex: {
      std::vector<Range> memory = at(0, kFutexBytes);
      const std::vector<Range> time = at(3, kTimeBytes);
      memory.insert(memory.end(), time.begin(), time.end());
      return memory;
    }
    case Shape::Poll: return at(0, std::min(call.arguments[1], kMostPolled) * kPolledBytes);
    case Shape::Sleep: return at(0, kTimeBytes);
    case Shape::ClockSleep: return at(2, kTimeBytes);
    default: return {};
  }
}

std::string describe(const SystemCall& call,
                     const MemoryReader& capture,
                     Descriptors& descriptors,
                     std::optional<std::chrono::nanoseconds> now) {
  return fmt::format("{}({})", name_of(call), arguments_of(call, capture, descriptors, now));
}

std::optional<RemoteAddr> awaited_futex(const SystemCall& call) {
  if (call.number != SYS_futex) return {};
  constexpr std::uint64_t kFlags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
  switch (call.arguments[1] & ~kFlags) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case 13: return RemoteAddr{call.arguments[0]};  // FUTEX_LOCK_PI2
    default: return {};
  }
}

bool needs_own_process(const SystemCall& call, const MemoryMap& map) {
  const auto futex = awaited_futex(call);
  const bool has_limit = call.arguments[3] != 0;
  if (!futex || has_limit) return false;
  if ((call.arguments[1] & FUTEX_PRIVATE_FLAG) != 0) return true;
  // pthread_join() waits like this for the kernel, which wakes it when the thread ends.
  const Mapping* const mapping = map.find(*futex);
  return mapping != nullptr && mapping->is_private && mapping->is_anonymous();
}

}  // namespace heapattach::stacks
