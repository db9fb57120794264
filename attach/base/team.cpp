#include "attach/base/team.h"

#include <exception>
#include <latch>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "attach/base/fault_points.h"

namespace heapattach {

namespace {

class Team {
 public:
  explicit Team(const TeamWork& work) : work_(work) {}

  void run(unsigned most) {
    {
      std::vector<std::jthread> threads;
      threads.reserve(most);
      while (threads.size() + 1 < most && start(threads)) {
      }
      begin(static_cast<unsigned>(threads.size()) + 1);
      go_.count_down();
      do_work(static_cast<unsigned>(threads.size()));
    }
    if (first_) std::rethrow_exception(first_);
  }

 private:
  bool start(std::vector<std::jthread>& threads) {
    if (fault_at(FaultPoint::StartThread)) return false;
    const auto number = static_cast<unsigned>(threads.size());
    try {
      threads.emplace_back([this, number] {
        go_.wait();
        do_work(number);
      });
    } catch (const std::exception&) {  // no thread, or no memory for it
      return false;                    // the existing threads do all the work
    }
    return true;
  }

  void begin(unsigned workers) noexcept {
    try {
      if (work_.begin) work_.begin(workers);
    } catch (...) {
      first_ = std::current_exception();
      is_called_off_ = true;
    }
  }

  void do_work(unsigned number) noexcept {
    if (is_called_off_) return;
    try {
      if (fault_at(FaultPoint::Work)) throw std::bad_alloc();
      work_.work(number);
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        if (!first_) first_ = std::current_exception();
      }
      if (work_.abandon) work_.abandon();
    }
  }

  const TeamWork& work_;
  std::latch go_{1};
  bool is_called_off_ = false;  // written before the others start
  std::mutex mutex_;            // of first_
  std::exception_ptr first_;
};

}  // namespace

void run_team(unsigned most, const TeamWork& team) {
  Team(team).run(most);
}

}  // namespace heapattach
