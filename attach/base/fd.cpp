#include "attach/base/fd.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/fault_points.h"

namespace heapattach {

namespace {

Fd::Opener opener = nullptr;  // instead of us, if set

}  // namespace

void Fd::open_through(Opener open_for_us) noexcept {
  opener = open_for_us;
}

Result<Fd> Fd::open(const std::string& path, int flags) {
  if (opener != nullptr) return opener(path, flags);
  const int fd = fault_at(FaultPoint::OpenFile) ? -1 : ::open(path.c_str(), flags | O_CLOEXEC);
  const int failure = errno;
  if (fd < 0) return os_error(fmt::format("open {}", path), failure);
  return Fd(fd);
}

Result<Fd> Fd::open_at(const Fd& at, const std::string& path, int flags) {
  const int fd =
      fault_at(FaultPoint::OpenFile) ? -1 : ::openat(at.get(), path.c_str(), flags | O_CLOEXEC);
  const int failure = errno;
  if (fd < 0) return os_error(fmt::format("open {}", path), failure);
  return Fd(fd);
}

void Fd::reset() noexcept {
  if (const int fd = release(); fd >= 0) ::close(fd);
}

Result<std::string> read_all(const Fd& fd, std::size_t limit_bytes) {
  std::array<char, 16384> step;  // NOLINT(*-member-init): read() fills it
  std::string text;
  while (text.size() < limit_bytes) {
    const std::size_t wanted = std::min(step.size(), limit_bytes - text.size());
    const auto got = fault_at(FaultPoint::ReadFile) ? -1 : ::read(fd.get(), step.data(), wanted);
    const int failure = errno;
    if (got == 0) break;
    if (got < 0 && failure != EINTR) return os_error("read", failure);
    if (got > 0) text.append(step.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace heapattach
