#include "attach/process/process_status.h"

#include <csignal>
#include <future>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/process/process.h"

namespace heapattach {

TEST_CASE("a thread's number is refused with that of its process") {
  std::promise<pid_t> number;
  std::promise<void> end;
  std::thread thread([&] {
    number.set_value(static_cast<pid_t>(::syscall(SYS_gettid)));
    end.get_future().wait();
  });
  const pid_t tid = number.get_future().get();
  const auto opened = Process::open(tid);
  end.set_value();
  thread.join();
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().kind == ErrorKind::Usage);
  CHECK(opened.error().message() == fmt::format("{} is a thread of process {}", tid, ::getpid()));
}

TEST_CASE("a thread that has ended is Gone, but its process is not") {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const auto process = Process::open(child);
  REQUIRE(process);
  // Our own pid is not a thread of `process`: the kernel answers as for a thread that has ended.
  const auto status = process->thread_status(::getpid());
  const auto state = process->thread_state(::getpid());
  CHECK(process->is_alive());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  REQUIRE_FALSE(status);
  CHECK(status.error().kind == ErrorKind::Gone);
  REQUIRE_FALSE(state);
  CHECK(state.error().kind == ErrorKind::Gone);
}

TEST_CASE("the status of a thread gives ids, signals and capabilities") {
  const auto status = parse_process_status(
      "Name:\tTracerPid:\\n\n"
      "Tgid:\t4711\nPid:\t4712\nTracerPid:\t99\n"
      "Uid:\t1000\t1001\t1002\t1003\nGid:\t5\t6\t7\t8\n"
      "SigPnd:\t0000000000000001\nShdPnd:\t0000000000004000\nSigBlk:\t8000000000000000\n"
      "CapEff:\t000001ffffffffff\n");
  CHECK(status.process == 4711);
  CHECK(status.tracer == 99);
  CHECK(status.real_uid == 1000);
  CHECK(status.effective_uid == 1001);
  CHECK(status.saved_uid == 1002);
  CHECK(status.real_gid == 5);
  CHECK(status.pending_signals == 0x4001);
  CHECK(status.blocked_signals == 0x8000000000000000);
  CHECK(status.effective_capabilities == 0x1ffffffffff);
}

TEST_CASE("a status without the expected lines, or with empty ones, leaves zeros") {
  CHECK(parse_process_status("").tracer == 0);
  CHECK(parse_process_status("TracerPid:\nUid:\t\nTgid").tracer == 0);
}

TEST_CASE(
    "a thread is not mistaken for a process, nor a process that has just ended for a thread") {
  CHECK(check_is_process(4711, parse_process_status("Tgid:\t4711\n")).has_value());
  const auto thread = check_is_process(4712, parse_process_status("Tgid:\t4711\n"));
  REQUIRE_FALSE(thread.has_value());
  CHECK(thread.error().kind == ErrorKind::Usage);
  CHECK(thread.error().text() == "4712 is a thread of process 4711; try: 4711");
  // The kernel's text between a thread's end and the end of its directory.
  const auto ended = check_is_process(4711, parse_process_status("Tgid:\t0\n"));
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error().kind == ErrorKind::Gone);
}

}  // namespace heapattach
