#include "symbols/unwind/signal_return.h"

#include <algorithm>

namespace heapattach::unwind {

bool is_signal_return(const Module& module, RemoteAddr pc) {
  const auto code = module.file_bytes(pc);
  return code.size() >= kSignalReturn.size() &&
         std::equal(kSignalReturn.begin(), kSignalReturn.end(), code.begin());
}

}  // namespace heapattach::unwind
