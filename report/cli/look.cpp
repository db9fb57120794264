#include "report/cli/look.h"

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "report/cli/console.h"

namespace heapattach {

Look look_of(const Options& options) {
  Look look;
  if (options.with_gzip) return look;
  const bool is_terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  look.with_colour = wants_colour(options.colour, is_terminal, std::getenv("NO_COLOR"));
  winsize size{};
  if (is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) look.columns = size.ws_col;
  return look;
}

}  // namespace heapattach
