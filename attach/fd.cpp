#include "attach/fd.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/fault_points.h"

namespace heapattach {

Result<Fd> Fd::open(const std::string& path, int flags) {
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
  constexpr std::size_t kStepBytes = std::size_t{64} * 1024;
  std::string text;
  while (text.size() < limit_bytes) {
    const std::size_t had = text.size();
    text.resize(std::min(had + kStepBytes, limit_bytes));
    const auto got = fault_at(FaultPoint::ReadFile)
                         ? -1
                         : ::read(fd.get(), text.data() + had, text.size() - had);
    const int failure = errno;
    if (got < 0 && failure != EINTR) return os_error("read", failure);
    text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) break;
  }
  return text;
}

}  // namespace heapattach
