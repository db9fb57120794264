#include "inject/how_it_ended.h"

#include <csignal>

#include <fmt/format.h>

#include "attach/process/start_program.h"

namespace heapattach {

// While the thread runs for us, only our call can make the kernel send SIGSYS.
Error ended_for_us(const RemoteStop& stop) {
  if (stop.signal == SIGSYS) {
    return Error{ErrorKind::Gone,
                 "it was killed by SIGSYS at our call: its system calls are restricted"};
  }
  // If a signal ended it, the wait status is the signal's number.
  const std::string how = stop.signal == 0 ? "ended" : describe_end(stop.signal);
  return Error{ErrorKind::Gone, fmt::format("it {} while it ran our code", how)};
}

}  // namespace heapattach
