#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/fd.h"
#include "report/exit_status.h"
#include "report/serve/capture.h"
#include "report/serve/pause_budget.h"

// Decides which captures run, when, and who gets their results. It knows no sockets, no processes
// and no clock, so that every rule can be tested:
//
//  - Requests for the same report on the same process share one capture, and get a finished one
//    that is not older than kFresh.
//  - A process is stopped no longer than its budget per minute allows. A capture that may need more
//    than is left is not begun; a request for counts then gets the last counts.
//  - One capture of a process runs at a time, and kMostRunning in all.
//  - A recording takes as long as the client asked, so other captures of the process run meanwhile.
//    Requests for a recording share the one that runs, whatever length they ask for. It is ended if
//    nobody waits for it any longer.
//  - Nothing grows without a bound: a limited number of captures wait, and their results are kept
//    until they are no longer fresh; only the last counts of each process are kept longer.
namespace heapattach::serve {

inline constexpr std::chrono::seconds kFresh{2};
inline constexpr std::chrono::seconds kUntilRetry{60};  // of counts after "no supported heap"
inline constexpr std::size_t kMostRunning = 2;          // and as many recordings
inline constexpr std::size_t kMostWaiting = 128;
inline constexpr std::size_t kMostProcesses = 64;

// How a capture ended.
struct Ending {
  ExitStatus status = ExitStatus::Complete;
  std::optional<std::chrono::nanoseconds> pause{};  // unknown: none was reported
  std::chrono::nanoseconds processor_time{};
  std::string message{};  // why it failed
  Fd output{};            // the report
};

enum class Outcome : std::uint8_t {
  Finished,    // with a status and, if there is a report, its descriptor
  NoSuchPid,   // not one of the served processes
  OverBudget,  // the process has been stopped for long enough in this minute
  Busy,        // too many others are waiting
};

struct Answer {
  std::uint64_t asker = 0;
  Outcome outcome = Outcome::Finished;
  ExitStatus status = ExitStatus::Complete;
  std::chrono::milliseconds age{};
  std::chrono::nanoseconds pause{};
  std::chrono::nanoseconds budget_left{};
  std::chrono::seconds retry_after{};
  std::string message{};
  int output = -1;  // borrowed from the schedule; -1: none
};

// What the keeper knows about a served process.
struct Account {
  ServedProcess process;
  PauseBudget budget{{}};
  std::uint64_t captures = 0;
  std::uint64_t failures = 0;
  std::chrono::nanoseconds pause{};          // of all captures
  std::chrono::nanoseconds longest_pause{};  // of any capture but a recording
  std::chrono::nanoseconds longest_of_recordings{};
  std::chrono::nanoseconds processor_time{};  // that heapattach has used for it
};

class Schedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Schedule(std::chrono::milliseconds pause_per_minute) : per_minute_(pause_per_minute) {}

  // Sets the processes to serve, of which it takes kMostProcesses at most.
  void update(std::vector<ServedProcess> processes);
  [[nodiscard]] const std::vector<Account>& accounts() const { return accounts_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  // Returns an answer if one is available at once; otherwise finish() returns it later. `length` is
  // the length of a recording.
  std::optional<Answer> ask(
      What what, pid_t pid, std::uint64_t asker, Time now, std::chrono::seconds length = {});
  // Forgets one asker, or all of them. Returns the recordings that the caller should end, because
  // nobody waits for them any more.
  std::vector<Capture> forget(std::uint64_t asker);
  std::vector<Capture> forget_all();
  // The next capture to run, if one may run now. It counts as running until finish().
  std::optional<Capture> next(Time now);
  // Answers everybody who waited for the capture. The descriptors in the answers are valid until
  // the next call of drop_old().
  std::vector<Answer> finish(const Capture& capture, Ending ending, Time now);
  void drop_old(Time now);
  [[nodiscard]] std::size_t waiting() const { return entries_.size(); }

 private:
  enum class State : std::uint8_t { Waiting, Running, Done };
  struct Entry {
    Capture capture;
    State state = State::Waiting;
    std::vector<std::uint64_t> askers{};
    bool is_given_up = false;  // nobody waits for it any more
    Ending ending{};
    Time begun{};
    Time done{};
  };
  Account* account_of(pid_t pid);
  Entry* find(const Capture& capture);
  std::vector<Capture> give_up_unwanted();
  [[nodiscard]] bool is_kept(const Entry& entry, Time now) const;
  [[nodiscard]] bool is_answer(const Entry& entry, Time now) const;
  [[nodiscard]] std::chrono::nanoseconds expected_pause(const Account& account, What what) const;
  [[nodiscard]] Answer answer_with(const Entry& entry, std::uint64_t asker, Time now);
  [[nodiscard]] Answer over_budget(const Account& account,
                                   What what,
                                   std::uint64_t asker,
                                   Time now) const;
  void settle(const Entry& entry, Time now);

  std::chrono::nanoseconds per_minute_;
  std::vector<Account> accounts_;
  std::size_t left_out_ = 0;
  std::deque<Entry> entries_;  // in the order of the requests
};

}  // namespace heapattach::serve
