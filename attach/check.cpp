#include "attach/check.h"

#include <stdexcept>

#include <fmt/format.h>

namespace heapattach {

void fail_check(const char* condition, std::source_location where) {
  throw std::logic_error(
      fmt::format("{}:{}: this should hold: {}", where.file_name(), where.line(), condition));
}

}  // namespace heapattach
