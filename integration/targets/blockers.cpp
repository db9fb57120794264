// One thread for each blocking call (blocking_calls.h), which makes it once and records the result.
// The answer to "rows" has as many lines as "ready" announced:
//   name tid=… ended=0|1 result=… errno=… elapsed_us=… due_us=… mask_changed=0|1

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <sched.h>
#include <sys/syscall.h>

#include "blocking_calls.h"
#include "talk.h"

namespace {

struct Row {
  BlockingCall call{};
  std::atomic<long> tid{0};
  std::atomic<bool> ended{false};
  long result = 0;
  int error = 0;
  timespec start{};
  timespec end{};
  bool mask_changed = false;
};

sigset_t current_mask() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

void make_call(Row* row) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const sigset_t before = current_mask();
  clock_gettime(CLOCK_MONOTONIC, &row->start);
  row->tid.store(syscall(SYS_gettid));
  errno = 0;
  row->result = row->call.run();
  row->error = row->result < 0 ? errno : 0;
  clock_gettime(CLOCK_MONOTONIC, &row->end);
  const sigset_t after = current_mask();
  row->mask_changed = std::memcmp(&before, &after, 8) != 0;
  row->ended.store(true);
  for (;;) pause();
}

long microseconds_between(const timespec& start, const timespec& end) {
  return (end.tv_sec - start.tv_sec) * 1'000'000 + (end.tv_nsec - start.tv_nsec) / 1000;
}

void append(std::vector<BlockingCall>& calls, const std::vector<BlockingCall>& more) {
  calls.insert(calls.end(), more.begin(), more.end());
}

}  // namespace

int main() {
  // In a namespace, the System V objects and queues that the program makes vanish with it.
  if (unshare(CLONE_NEWIPC) != 0) std::fprintf(stderr, "blockers: no namespace of its own\n");
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<BlockingCall> calls;
  for (const auto& some : {calls_of_time(), calls_of_polling(), calls_of_files(),
                           calls_of_sockets(), calls_of_messages()}) {
    append(calls, some);
  }
  std::vector<Row> rows(calls.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].call = calls[i];
    std::thread(make_call, &rows[i]).detach();
  }
  for (const Row& row : rows) {
    while (row.tid.load() == 0) std::this_thread::yield();
  }
  say("ready rows=%zu", rows.size());
  char line[64];
  while (next_question(line, sizeof line)) {
    for (const Row& row : rows) {
      const bool ended = row.ended.load();
      say("%s tid=%ld ended=%d result=%ld errno=%d elapsed_us=%ld due_us=%ld mask_changed=%d",
          row.call.name, row.tid.load(), ended ? 1 : 0, ended ? row.result : 0,
          ended ? row.error : 0, ended ? microseconds_between(row.start, row.end) : 0,
          static_cast<long>(row.call.due_s * 1e6), ended && row.mask_changed ? 1 : 0);
    }
  }
  std::_Exit(0);
}
