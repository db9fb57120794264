#include "attach/base/pipe.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace heapattach {

Result<Pipe> make_pipe(const char* doing) {
  std::array<int, 2> ends{-1, -1};
  const int got = pipe2(ends.data(), O_CLOEXEC);
  const int failure = errno;
  if (got != 0) return os_error(doing, failure);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace heapattach
