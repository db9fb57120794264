#include "attach/base/check.h"

#include <stdexcept>

#include <fmt/format.h>

namespace heapattach {

void fail_check(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("{}:{}: check failed: {}", file, line, condition));
}

}  // namespace heapattach
