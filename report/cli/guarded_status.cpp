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
    text = end.asked_by ? fmt::format(
                              "asked to end by signal {}; ended without a report because "
                              "something it read did not answer",
                              *end.asked_by)
                        : "the deadline passed; ended without a report because something it read "
                          "took too long or did not answer";
  }
  text += "; whatever it held runs on";
  if (end.is_left) {
    text +=
        "; a process of ours waits in the kernel for a file system that does not answer, and "
        "ends with it";
  }
  return text;
}

}  // namespace

ExitStatus status_of(const GuardedEnd& end, Console& console) {
  if (end.status) return static_cast<ExitStatus>(*end.status);
  if (end.signal && end.asked_by) {  // we were asked twice
    die_by(*end.signal);
  } else if (end.signal) {
    console.error(fmt::format("ended by signal {} ({}); whatever it held runs on", *end.signal,
                              ::strsignal(*end.signal)));
    die_by(*end.signal);
  }
  console.error(reason_of(end));
  if (end.asked_by && end.why.empty()) {
    return *end.asked_by == SIGTERM ? ExitStatus::Terminated : ExitStatus::Interrupted;
  }
  return ExitStatus::Timeout;
}

}  // namespace heapattach
