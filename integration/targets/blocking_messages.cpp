#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocking_calls.h"

namespace {

constexpr std::size_t kMaskBytes = 8;

sigset_t only(int number) {
  sigset_t set;
  sigemptyset(&set);
  if (number != 0) sigaddset(&set, number);
  return set;
}

long wait_for_child() {
  const pid_t child = fork();
  if (child == 0) {
    sleep(20);
    _exit(0);
  }
  return wait4(child, nullptr, __WNOTHREAD, nullptr);
}

long wait_for_signal() {
  const sigset_t set = only(SIGUSR1);
  return syscall(SYS_rt_sigtimedwait, &set, nullptr, nullptr, kMaskBytes);
}

long wait_for_signal_for() {
  const sigset_t set = only(SIGUSR1);
  const timespec time = in_due_time();
  return syscall(SYS_rt_sigtimedwait, &set, nullptr, &time, kMaskBytes);
}

long pause_for_ever() {
#ifdef SYS_pause
  return syscall(SYS_pause);
#else
  return pause();
#endif
}

long suspend() {
  const sigset_t none = only(0);
  return syscall(SYS_rt_sigsuspend, &none, kMaskBytes);
}

long take_semaphore_with(const timespec* time) {
  sembuf take{0, -1, 0};
  return semtimedop(semget(IPC_PRIVATE, 1, 0600), &take, 1, time);
}

long take_semaphore() {
  sembuf take{0, -1, 0};
  return semop(semget(IPC_PRIVATE, 1, 0600), &take, 1);
}

long take_semaphore_for() {
  const timespec time = in_due_time();
  return take_semaphore_with(&time);
}

struct Message {
  long type = 1;
  char text[4096] = {};
};

long receive_message() {
  Message message;
  return msgrcv(msgget(IPC_PRIVATE, 0600), &message, sizeof message.text, 0, 0);
}

long send_message() {
  const int queue = msgget(IPC_PRIVATE, 0600);
  const Message message;
  while (msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) == 0) {
  }
  return msgsnd(queue, &message, sizeof message.text, 0);
}

mqd_t open_queue(const char* word) {
  char name[64];
  std::snprintf(name, sizeof name, "/heapattach-%s-%d", word, getpid());
  const mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, nullptr);
  mq_unlink(name);
  return queue;
}

long receive_from_queue() {
  std::vector<char> text(8192);
  return mq_receive(open_queue("a"), text.data(), text.size(), nullptr);
}

long receive_from_queue_until() {
  std::vector<char> text(8192);
  const timespec time = at_due_time(CLOCK_REALTIME);
  return mq_timedreceive(open_queue("b"), text.data(), text.size(), nullptr, &time);
}

}  // namespace

std::vector<BlockingCall> calls_of_messages() {
  return {
      {"wait4", 0, wait_for_child},
      {"rt_sigtimedwait-timed", kDueSeconds, wait_for_signal_for},
      {"rt_sigtimedwait", 0, wait_for_signal},
      {"pause", 0, pause_for_ever},
      {"rt_sigsuspend", 0, suspend},
      {"semop", 0, take_semaphore},
      {"semtimedop-timed", kDueSeconds, take_semaphore_for},
      {"msgrcv", 0, receive_message},
      {"msgsnd", 0, send_message},
      {"mq_receive", 0, receive_from_queue},
      {"mq_timedreceive", kDueSeconds, receive_from_queue_until},
  };
}
