#include "attach/sandbox/open_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/sandbox/confined.h"

namespace heapattach {

Result<Fd> reopen_if_regular(const Fd& found, const std::string& path) {
  struct stat status {};
  if (fstat(found.get(), &status) != 0) return os_error(path, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::Malformed, path + " is not a regular file"};
  return Fd::open(fmt::format("/proc/self/fd/{}", found.get()), O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

Result<Fd> open_regular(const std::string& path) {
  if (is_confined()) return open_by_broker(path, O_PATH);
  return reopen_if_regular(HA_TRY(Fd::open(path, O_PATH)), path);
}

Result<Fd> open_below(const Fd& root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how);
  if (fd < 0) return os_error(path, errno);
  return reopen_if_regular(Fd(static_cast<int>(fd)), path);
}

Error error_of_source(Error error) {
  if (error.os_errno != 0) error.kind = ErrorKind::Os;
  return error;
}

Result<Fd> open_source(const std::string& path) {
  auto file = Fd::open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
  if (!file) return error_of_source(std::move(file).error());
  return file;
}

}  // namespace heapattach
