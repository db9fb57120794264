#include "attach/process/process_end.h"

#include <array>
#include <cstdint>

#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/process/start_program.h"
#include "attach/process/stat_field.h"

namespace heapattach {

namespace {

// The answer to PIDFD_GET_INFO (<linux/pidfd.h>, since Linux 6.13). Since 6.15, it has the status
// of a process that was reaped.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t status = 0;
};
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr std::uint64_t kStatus = 1U << 3U;

constexpr int kStatusField = 52;
constexpr std::size_t kMostStat = 4096;

}  // namespace

ProcessEnd::ProcessEnd(const Process& process)
    : process_(process), pidfd_(static_cast<int>(syscall(SYS_pidfd_open, process.pid(), 0))) {
  // The pid may have been reused before it was opened.
  if (!process.is_alive()) pidfd_.reset();
}

std::optional<int> ProcessEnd::status() const {
  if (process_.is_alive()) return std::nullopt;
  if (const auto file = Fd::open_at(process_.directory(), "stat", O_RDONLY)) {
    const auto text = read_all(*file, kMostStat);
    const auto status = text ? stat_field(*text, kStatusField) : Result<std::uint64_t>(0);
    if (status && *status != 0) return static_cast<int>(*status);
  }
  PidfdInfo info{.mask = kStatus};
  if (pidfd_.empty() || ioctl(pidfd_.get(), kGetInfo, &info) != 0) return std::nullopt;
  if ((info.mask & kStatus) == 0) return std::nullopt;
  return info.status;
}

std::string ProcessEnd::words() const {
  const auto known = status();
  return known ? describe_end(*known) : "has ended";
}

}  // namespace heapattach
