#pragma once

#include "attach/base/fd.h"
#include "attach/base/result.h"

namespace heapattach {

struct Pipe {
  Fd reads;
  Fd writes;
};

// Makes a pipe that programs which we start do not inherit. An error begins with `doing`.
Result<Pipe> make_pipe(const char* doing);

}  // namespace heapattach
