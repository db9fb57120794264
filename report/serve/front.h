#pragma once

#include <sys/types.h>

#include "attach/base/fd.h"
#include "report/serve/routes.h"

namespace heapattach::serve {

// Answers HTTP with libmicrohttpd until the wire to the keeper ends. Gives up all rights first: the
// process can then only accept connections, read and write open descriptors, and ask the keeper.
// Returns the reason if it could not begin; empty once the wire has ended.
struct FrontOptions {
  int socket = -1;  // listening; borrowed
  int wire = -1;    // to the keeper; borrowed
  pid_t keeper = 0;
  Admission admission{};
};
[[nodiscard]] std::string run_front(const FrontOptions& options);

}  // namespace heapattach::serve
