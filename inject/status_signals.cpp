#include "inject/status_signals.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace heapattach {

std::uint64_t status_signals(const Process& process, std::string_view line) {
  const auto status = process.read_file("status");
  const std::size_t at = status ? status->find(line) : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::size_t digits = status->find_first_not_of(" \t", at + line.size());
  std::uint64_t mask = 0;
  const char* const end = status->data() + status->size();
  std::from_chars(status->data() + std::min(digits, status->size()), end, mask, 16);
  return mask;
}

}  // namespace heapattach
