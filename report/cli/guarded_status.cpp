#include "report/cli/guarded_status.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace heapattach {

namespace {

// Our parent should see what ended the work; one core file of it is enough.
void die_by(int signal) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

std::string reason_of(const GuardedEnd& end) {
  std::string text = end.why;
  if (text.empty()) {
    text = end.asked_by
               ? fmt::format(
                     "interrupted by signal {}; there is no report, because a read did not return",
                     *end.asked_by)
               : "the deadline passed; there is no report, because a read took too long or did not "
                 "return";
  }
  text += "; any process that heapattach held keeps running";
  if (end.is_left) {
    text +=
        "; a process of heapattach is waiting in the kernel for a file system that does not "
        "respond, and exits when the file system does";
  }
  return text;
}

}  // namespace

ExitStatus status_of(const GuardedEnd& end, Console& console) {
  if (end.status) return static_cast<ExitStatus>(*end.status);
  if (end.signal && end.asked_by) {  // we were asked twice
    die_by(*end.signal);
  } else if (end.signal) {
    console.error(
        fmt::format("killed by signal {} ({}); any process that heapattach held keeps running",
                    *end.signal, ::strsignal(*end.signal)));
    die_by(*end.signal);
  }
  console.error(reason_of(end));
  if (end.asked_by && end.why.empty()) {
    return *end.asked_by == SIGTERM ? ExitStatus::Terminated : ExitStatus::Interrupted;
  }
  return ExitStatus::Timeout;
}

}  // namespace heapattach
