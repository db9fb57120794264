#include "report/format/write/thread_words.h"

namespace heapattach {

std::string_view words_for_state(char state) {
  switch (state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "blocked in the kernel";
    case 'T': return "stopped";
    case 't': return "stopped by a tracer";
    case 'I': return "idle";
    default: return "in another state";
  }
}

}  // namespace heapattach
