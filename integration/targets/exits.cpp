// Forgets some allocations, holds others, and exits in the way that its argument says. Before that,
// it prints
//     leaked=N leaked_bytes=N
// for the allocations that it has forgotten.
//
//     return       main() returns 3
//     exit         a second thread calls exit(4), and others hold allocations on their stacks alone
//     signal N     the same with a signal instead
//     last         the first thread ends, and the last one after it
//     exec         a second thread turns the process into this program again, with "exit"
//     fork         a child forgets much and exits before its parent returns 5
//     churn        threads come and go until it exits
//     filtered     a seccomp filter kills a second thread, and main() returns 3 after it
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Node {
  Node* next = nullptr;
  long number = 0;
};

Node* held = nullptr;
unsigned long leaked = 0;
unsigned long leaked_bytes = 0;

[[gnu::noinline]] void forget(int count) {
  for (int i = 0; i < count; ++i) {
    Node* const node = new Node;
    leaked += 1;
    leaked_bytes += malloc_usable_size(node);
    asm volatile("" : : "r"(node) : "memory");
  }
}

[[gnu::noinline]] void wipe_stack() {
  volatile char used[32768];
  for (volatile char& one : used) one = 0;
}

void hold(int count) {
  for (int i = 0; i < count; ++i) held = new Node{held, i};
}

// Holds allocations that nothing else references, on the thread's stack, and never returns. Half of
// the threads run, and the others wait.
std::atomic<int> holding = 0;
void hold_on_stack(bool runs) {
  Node* kept[50];
  for (Node*& one : kept) one = new Node;
  holding += 1;
  while (runs) asm volatile("" : : "r"(&kept[0]) : "memory");
  for (;;) {
    pause();
    asm volatile("" : : "r"(&kept[0]) : "memory");
  }
}

void start_holders() {
  constexpr int kHolders = 4;
  for (int i = 0; i < kHolders; ++i) std::thread(hold_on_stack, i % 2 == 0).detach();
  while (holding < kHolders) usleep(1000);
}

void print_truth() {
  std::printf("leaked=%lu leaked_bytes=%lu\n", leaked, leaked_bytes);
  std::fflush(stdout);
}

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

[[noreturn]] void end_by_thread(void (*end)()) {
  start_holders();
  print_truth();
  std::thread(end).detach();
  wait_for_ever();
}

int ending_signal = 0;
char* program = nullptr;

void churn() {
  std::atomic<int> made = 0;
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&made] {
      for (;;) {
        std::thread([&made] { made += 1; }).join();
      }
    });
  }
  while (made < 500) usleep(1000);
  print_truth();
  std::exit(6);
}

void* be_killed(void*) {
  sock_filter kill_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD)};
  const sock_fprog filter{1, kill_all};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
  getppid();
  return nullptr;
}

int end_as(std::string_view how) {
  if (how == "exit") end_by_thread([] { std::exit(4); });
  if (how == "signal") end_by_thread([] { kill(getpid(), ending_signal); });
  if (how == "exec") {
    start_holders();
    std::thread([] { execl(program, program, "exit", nullptr); }).detach();
    wait_for_ever();
  }
  if (how == "last") {
    print_truth();
    static const pthread_t first = pthread_self();
    std::thread([] { pthread_join(first, nullptr); }).detach();
    pthread_exit(nullptr);
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      forget(1000);
      return 0;
    }
    waitpid(child, nullptr, 0);
    print_truth();
    return 5;
  }
  if (how == "churn") churn();
  if (how == "filtered") {
    pthread_t killed{};
    pthread_create(&killed, nullptr, be_killed, nullptr);
    pthread_join(killed, nullptr);
  }
  print_truth();
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  static char out[4096];
  std::setvbuf(stdout, out, _IOFBF, sizeof out);  // so that printing allocates nothing
  program = argv[0];
  if (argc > 2) ending_signal = std::atoi(argv[2]);
  hold(200);
  forget(40);
  wipe_stack();
  return end_as(argc > 1 ? argv[1] : "return");
}
