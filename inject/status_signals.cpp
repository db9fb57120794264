#include "inject/status_signals.h"

#include "attach/process/kernel_text.h"

namespace heapattach {

std::uint64_t status_signals(const Process& process, std::string_view line) {
  constexpr int kHex = 16;
  const auto status = process.read_file("status");
  return status ? number_after(*status, line, kHex).value_or(0) : 0;
}

}  // namespace heapattach
