#include "report/deadline.h"

#include <fmt/format.h>

namespace heapattach {

Result<void> Deadline::check(std::string_view doing) const {
  if (is_interrupted()) {
    return Error{ErrorKind::Interrupted, fmt::format("{}: interrupted", doing)};
  }
  if (has_passed()) return Error{ErrorKind::Timeout, fmt::format("{}: the deadline passed", doing)};
  return {};
}

}  // namespace heapattach
