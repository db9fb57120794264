#include "attach/process/thread_activity.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace heapattach {

TEST_CASE("a thread has a number in each of its pid namespaces, its own last") {
  CHECK(namespace_numbers("Pid:\t4711\nNSpid:\t4711\t38\t7\nNSpgid:\t4711\t38\t1\n") ==
        std::vector<pid_t>{4711, 38, 7});
  CHECK(namespace_numbers("Pid:\t4711\nNSpid:\t4711\nNSpgid:\t4711\n") == std::vector<pid_t>{4711});
  CHECK(namespace_numbers("Pid:\t4711\nNSpid:\t4711\t7") == std::vector<pid_t>{4711, 7});
  // Kernels without namespaces do not have the line.
  CHECK(namespace_numbers("Name:\tNSpid:\nPid:\t4711\n").empty());
}

TEST_CASE("a thread's own number is ours unless the kernel has another") {
  const pid_t pid = ::getppid();
  const auto parent = Process::open(pid);
  REQUIRE(parent);
  CHECK(number_in_target(*parent, pid) == pid);
  CHECK(number_in_target(*parent, 1'000'000'000) == 1'000'000'000);  // no such thread
}

}  // namespace heapattach
