#include "attach/base/deadline.h"

#include <fmt/format.h>

#include "attach/base/guardian.h"

namespace heapattach {

Deadline Deadline::in(std::chrono::milliseconds time) {
  Deadline deadline;
  deadline.at = std::chrono::steady_clock::now() + time;
  set_guarded_deadline(deadline.at);
  return deadline;
}

Result<void> Deadline::check(std::string_view doing) const {
  if (is_interrupted()) {
    return Error{ErrorKind::Interrupted, fmt::format("{}: interrupted", doing)};
  }
  if (has_passed()) return Error{ErrorKind::Timeout, fmt::format("{}: the deadline passed", doing)};
  return {};
}

}  // namespace heapattach
