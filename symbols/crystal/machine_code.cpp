#include "symbols/crystal/machine_code.h"

#include <algorithm>

namespace heapattach::crystal {

std::vector<Code> code_of(const Module& program) {
  std::vector<Code> code;
  for (const Segment& segment : program.segments()) {
    if (!segment.executable) continue;
    const auto bytes = program.file_bytes(segment.range.start);
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), segment.range.bytes);
    code.push_back({segment.range.start, bytes.first(size)});
  }
  return code;
}

std::uint64_t target_of_jump(const Code& code, std::size_t at) {
  std::int32_t displacement = 0;
  std::memcpy(&displacement, code.bytes.data() + at + 1, sizeof(displacement));
  return (code.start + at + 5).value + static_cast<std::uint64_t>(std::int64_t{displacement});
}

}  // namespace heapattach::crystal
