#pragma once

#include <sys/types.h>

#include "attach/base/fd.h"
#include "report/serve/routes.h"

namespace heapattach::serve {

// Answers HTTP with libmicrohttpd until the wire to the keeper ends. It gives up all rights first:
// it can accept connections, read and write what it has open, and ask the keeper. Returns why it
// could not begin; empty after the end of the wire.
struct FrontOptions {
  int socket = -1;  // listening; borrowed
  int wire = -1;    // to the keeper; borrowed
  pid_t keeper = 0;
  Admission admission{};
};
[[nodiscard]] std::string run_front(const FrontOptions& options);

}  // namespace heapattach::serve
