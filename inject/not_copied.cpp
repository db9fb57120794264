#include "inject/not_copied.h"

#include <algorithm>
#include <charconv>

namespace heapattach {

namespace {

// Reads the range of a line such as "7f12-7f34 rw-p …"; empty for another kind of line.
Range range_of(std::string_view line) {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  const char* const last = line.data() + line.size();
  const auto first = std::from_chars(line.data(), last, start, 16);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return {};
  const auto second = std::from_chars(first.ptr + 1, last, end, 16);
  if (second.ec != std::errc() || end < start) return {};
  return {{start}, end - start};
}

bool is_never_copied(std::string_view line) {
  return line.starts_with("VmFlags:") && line.find(" dc") != std::string_view::npos;
}

}  // namespace

std::vector<Range> not_copied(std::string_view smaps) {
  std::vector<Range> found;
  Range current;
  while (!smaps.empty()) {
    const std::string_view line = smaps.substr(0, smaps.find('\n'));
    smaps.remove_prefix(std::min(smaps.size(), line.size() + 1));
    if (const Range range = range_of(line); range.bytes > 0) current = range;
    if (is_never_copied(line)) found.push_back(current);
  }
  return found;
}

bool is_copied(const FrozenThread& thread, const std::vector<Range>& not_copied) {
  if (!thread.registers) return false;
  return std::none_of(not_copied.begin(), not_copied.end(), [&](const Range& range) {
    return range.contains(thread.registers->stack_pointer) ||
           range.contains(thread.registers->thread_pointer);
  });
}

}  // namespace heapattach
