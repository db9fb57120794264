// Makes children all the time. With fork, each child must end by itself, and a tracer of the parent
// must not notice it. With "vfork N", one child at a time blocks its parent for N milliseconds;
// only the child's end ends that wait.

#include <atomic>
#include <cstdlib>
#include <thread>

#include <sched.h>
#include <sys/wait.h>

#include "talk.h"

namespace {

std::atomic<long> made{0}, wrong{0};
std::atomic<bool> stopping{false};

void fork_for_ever() {
  while (!stopping.load()) {
    const pid_t child = fork();
    if (child == 0) _exit(3);
    made.fetch_add(1);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) wrong.fetch_add(1);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) wrong.fetch_add(1);
  }
}

void vfork_for_ever(unsigned milliseconds) {
  while (!stopping.load()) {
    // The child is meant to sleep, and usleep() touches nothing of the parent.
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (child == 0) {
      usleep(milliseconds * 1000);  // NOLINT(clang-analyzer-unix.Vfork)
      _exit(3);
    }
    made.fetch_add(1);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) wrong.fetch_add(1);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) wrong.fetch_add(1);
  }
}

}  // namespace

int main(int count, char** words) {
  std::thread maker;
  if (count > 2 && is(words[1], "vfork")) {
    maker = std::thread(vfork_for_ever, static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)));
  } else {
    maker = std::thread(fork_for_ever);
  }
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) {
    if (is(line, "stop")) {
      stopping.store(true);
      if (maker.joinable()) maker.join();
    }
    say("made=%ld wrong=%ld", made.load(), wrong.load());
  }
}
