// Tests which threads of a program end, and whether the program ends with them.

#include "attach/stop/exit_stop.h"

#include <csignal>

#include <doctest/doctest.h>
#include <sys/syscall.h>

namespace heapattach {

TEST_CASE("a thread that ends alone is let go, and the program goes on") {
  EndingThreads threads;
  threads.add(1);
  threads.add(2);
  threads.stop(2, {SYS_exit, 0});
  CHECK_FALSE(threads.is_process_ending());
  CHECK(threads.take_single_ends() == std::vector<pid_t>{2});
  CHECK(threads.running() == std::vector<pid_t>{1});
}

TEST_CASE("the end of the last thread is the end of the program") {
  EndingThreads threads;
  threads.add(1);
  threads.add(2);
  threads.stop(1, {SYS_exit, 0});
  CHECK(threads.take_single_ends() == std::vector<pid_t>{1});
  threads.stop(2, {SYS_exit, 0});
  CHECK(threads.is_process_ending());
  CHECK(threads.take_single_ends().empty());
}

TEST_CASE("threads that exit() ends wait for the thread that called it") {
  EndingThreads threads;
  for (const pid_t tid : {1, 2, 3}) threads.add(tid);
  threads.stop(2, {SYS_futex, 0});  // stops before the thread that calls exit()
  CHECK_FALSE(threads.is_process_ending());
  CHECK(threads.take_single_ends().empty());
  threads.stop(3, {SYS_exit_group, 0});
  CHECK(threads.is_process_ending());
  threads.stop(1, {SYS_exit, 0});  // a thread that was about to end anyway is held, too
  CHECK(threads.take_single_ends().empty());
  CHECK(threads.running().empty());
}

TEST_CASE("a signal ends the program, whatever its threads were doing") {
  EndingThreads threads;
  threads.add(1);
  threads.add(2);
  threads.stop(2, {SYS_exit, SIGKILL});
  CHECK(threads.is_process_ending());
  CHECK(threads.running() == std::vector<pid_t>{1});
}

TEST_CASE("a thread that a seccomp filter killed is let go if the others keep running") {
  EndingThreads threads;
  threads.add(1);
  threads.add(2);
  threads.stop(2, {SYS_getppid, SIGSYS});
  CHECK(threads.is_process_ending());  // until it is clear that only a thread was killed
  CHECK(threads.take_filtered_ends({}) == std::vector<pid_t>{2});
  CHECK_FALSE(threads.is_process_ending());
  // Now the filter has ended the last thread, and so the process.
  threads.stop(1, {SYS_getppid, SIGSYS});
  CHECK(threads.take_filtered_ends({}).empty());
  CHECK(threads.is_process_ending());
}

TEST_CASE("a thread that a filter killed is not let go if the process ends for another reason") {
  for (const EndingThreads::End other :
       {EndingThreads::End{SYS_exit_group, 0}, EndingThreads::End{SYS_pause, SIGTERM}}) {
    EndingThreads threads;
    for (const pid_t tid : {1, 2, 3}) threads.add(tid);
    threads.stop(2, {SYS_getppid, SIGSYS});
    threads.stop(3, other);
    CHECK(threads.take_filtered_ends({}).empty());
    CHECK(threads.is_process_ending());
  }
}

TEST_CASE("a blocked thread with SIGKILL pending delays the end of its process") {
  EndingThreads threads;
  for (const pid_t tid : {1, 2, 3}) threads.add(tid);
  threads.stop(2, {SYS_getppid, SIGSYS});
  threads.stop(3, {SYS_futex, SIGSYS});
  CHECK(threads.take_filtered_ends({{1, std::uint64_t{1} << (SIGKILL - 1)}}).empty());
  CHECK(threads.is_process_ending());
  CHECK(threads.take_filtered_ends({{1, std::uint64_t{1} << (SIGTERM - 1)}}) ==
        std::vector<pid_t>{2, 3});
}

TEST_CASE("threads that give way to another program are let go") {
  EndingThreads threads;
  for (const pid_t tid : {1, 2, 3}) threads.add(tid);
  threads.stop(1, {SYS_pause, 0});
  threads.stop(3, {SYS_futex, 0});
  CHECK_FALSE(threads.is_process_ending());
  CHECK(threads.take_all_ends() == std::vector<pid_t>{1, 3});
  threads.become(1);
  CHECK(threads.running() == std::vector<pid_t>{1});
}

}  // namespace heapattach
