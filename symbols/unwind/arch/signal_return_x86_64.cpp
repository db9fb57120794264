#include <algorithm>

#include "symbols/unwind/arch/signal_return.h"
#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

bool is_signal_return(const Module& module, RemoteAddr pc) {
  const auto code = module.file_bytes(pc);
  return code.size() >= kSignalReturn.size() &&
         std::equal(kSignalReturn.begin(), kSignalReturn.end(), code.begin());
}

}  // namespace heapattach::unwind::x86_64
