#include "attach/memory/memory_reader.h"

#include <algorithm>

#include "attach/base/page.h"

namespace heapattach {

Result<void> MemoryReader::read(RemoteAddr from, std::span<std::byte> into) const {
  while (!into.empty()) {
    const std::size_t count = HA_TRY(read_some(from, into));
    from = from + count;
    into = into.subspan(count);
  }
  return {};
}

Result<std::vector<Range>> MemoryReader::copy_all(std::span<const Copy> copies,
                                                  const CopyLimits& limits) const {
  std::vector<Range> holes;
  for (const Copy& copy : copies) {
    for (std::size_t done = 0; done < copy.into.size();) {
      if (std::chrono::steady_clock::now() > limits.deadline) {
        return Error{ErrorKind::Timeout, fmt::format("copying at {}", copy.from + done)};
      }
      const auto rest = copy.into.subspan(done);
      const auto got = read_some(copy.from + done, rest);
      if (got) {
        done += *got;
        continue;
      }
      if (got.error().kind != ErrorKind::Fault) return got.error();
      const RemoteAddr at = copy.from + done;
      const std::size_t gap =
          std::min<std::size_t>(rest.size(), kLeastPageBytes - at.value % kLeastPageBytes);
      std::fill_n(rest.begin(), gap, std::byte{0});
      holes.push_back({at, gap});
      done += gap;
    }
  }
  return holes;
}

}  // namespace heapattach
