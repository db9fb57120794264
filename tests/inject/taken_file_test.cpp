// Tests taking files from a descriptor table that other processes share.

#include "inject/taken_file.h"

#include <cerrno>
#include <chrono>
#include <csignal>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapattach {

TEST_CASE("memory on which another process holds a lease is refused without waiting") {
  const Fd memory(memfd_create("taken", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(!memory.empty());
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  const auto holder = Process::open(child);
  const MadeFile made{child, memory.get()};
  REQUIRE(holder);
  CHECK(take_memory(*holder, made, "taken", O_RDWR));
  // The kernel asks this process to give up the lease with SIGIO, and waits 45 s for that.
  const auto before = std::signal(SIGIO, SIG_IGN);
  if (fcntl(memory.get(), F_SETLEASE, F_RDLCK) != 0) {
    MESSAGE("skipped: this kernel has no leases of memory");
  } else {
    const auto begin = std::chrono::steady_clock::now();
    const auto taken = take_memory(*holder, made, "taken", O_RDWR);
    REQUIRE(!taken);
    CHECK(taken.error().os_errno == EWOULDBLOCK);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  }
  std::signal(SIGIO, before);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace heapattach
