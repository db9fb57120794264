// A print service whose printer waits for a wakeup that has already come. The printer looks for a
// job without the lock, the job arrives, and then the printer waits without looking again. Answers
// no questions.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <semaphore>
#include <thread>

#include <pthread.h>

#include "../targets/talk.h"

namespace {

class PrintQueue {
 public:
  // The fault: the lock is not held between the check and the wait.
  int take_job() {
    if (jobs_.empty()) {
      looked_.release();
      arrived_.acquire();  // the job arrives just here
      std::unique_lock lock(mutex_);
      notified_.wait(lock);
    }
    const int job = jobs_.front();
    jobs_.pop_front();
    return job;
  }

  void add_job(int job) {
    looked_.acquire();
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(job);
    }
    notified_.notify_one();
    arrived_.release();
  }

 private:
  std::deque<int> jobs_;
  std::mutex mutex_;
  std::condition_variable notified_;
  std::binary_semaphore looked_{0};
  std::binary_semaphore arrived_{0};
};

PrintQueue queue;

void print_jobs() {
  pthread_setname_np(pthread_self(), "printer");
  for (;;) say("printed=%d", queue.take_job());
}

}  // namespace

int main() {
  std::thread printer(print_jobs);
  queue.add_job(1);
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) {
  }
  std::quick_exit(0);
}
