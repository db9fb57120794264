#include "symbols/unwind/stack_window.h"

#include <algorithm>
#include <cstring>

namespace heapattach::unwind {

Result<std::size_t> StackWindow::read_some(RemoteAddr from, std::span<std::byte> into) const {
  if (!range_.contains(from)) {
    if (into.size() > kBytes) return memory_.read_some(from, into);
    range_ = {};
    const std::size_t bytes = HA_TRY(memory_.read_some(from, copy_));
    range_ = {from, bytes};
  }
  const std::uint64_t offset = from - range_.start;
  const std::size_t bytes = std::min<std::size_t>(into.size(), range_.bytes - offset);
  std::memcpy(into.data(), copy_.data() + offset, bytes);
  return bytes;
}

}  // namespace heapattach::unwind
