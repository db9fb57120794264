#include "attach/base/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace heapattach {

namespace {

ErrorKind kind_of(int os_errno) {
  switch (os_errno) {
    case ESRCH: return ErrorKind::Gone;
    case EPERM:
    case EACCES: return ErrorKind::Denied;
    case EFAULT:
    case EIO: return ErrorKind::Fault;
    default: return ErrorKind::Os;
  }
}

}  // namespace

Error Error::context(std::string_view doing) && {
  attempted = attempted.empty() ? std::string(doing) : fmt::format("{}: {}", doing, attempted);
  return std::move(*this);
}

Error Error::advise(std::string what) && {
  advice = std::move(what);
  return std::move(*this);
}

std::string Error::message() const {
  return attempted.empty() ? reason : fmt::format("{}: {}", attempted, reason);
}

std::string Error::text() const {
  return advice.empty() ? message() : fmt::format("{}; try: {}", message(), advice);
}

Error os_error(std::string_view operation, int os_errno) {
  return {kind_of(os_errno),
          fmt::format("{}: {}", operation, std::generic_category().message(os_errno)), os_errno};
}

}  // namespace heapattach
