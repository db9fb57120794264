#include <algorithm>

#include "attach/base/word.h"
#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

bool is_signal_return(const Module& module, RemoteAddr pc) {
  const auto code = module.file_bytes(pc);
  return code.size() >= kSignalReturn.size() &&
         std::equal(kSignalReturn.begin(), kSignalReturn.end(), code.begin());
}

std::optional<Interrupted> interrupted(const MemoryReader& memory,
                                       RemoteAddr place,
                                       const Range& /*stack*/) {
  const RemoteAddr saved = place + kWordBytes;
  const auto pointer = memory.read_as<std::uint64_t>(saved + kSavedStackPointerAt);
  return Interrupted{.stack_pointer = pointer ? *pointer : 0, .saved = saved};
}

}  // namespace heapattach::unwind::x86_64
