#include "report/serve/schedule.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace heapattach::serve {

namespace {

bool has_stopped_nothing(ExitStatus status) {
  return status == ExitStatus::Usage || status == ExitStatus::Gone || status == ExitStatus::Denied;
}

}  // namespace

void Schedule::update(std::vector<ServedProcess> processes) {
  left_out_ = processes.size() > kMostProcesses ? processes.size() - kMostProcesses : 0;
  processes.resize(std::min(processes.size(), kMostProcesses));
  std::vector<Account> accounts;
  for (ServedProcess& process : processes) {
    Account* const known = account_of(process.pid);
    const bool is_same = known != nullptr && known->process.started == process.started;
    Account account = is_same ? *known : Account{};
    if (!is_same) account.budget = PauseBudget(per_minute_);
    account.process = std::move(process);
    accounts.push_back(std::move(account));
  }
  accounts_ = std::move(accounts);
}

Account* Schedule::account_of(pid_t pid) {
  const auto found =
      std::find_if(accounts_.begin(), accounts_.end(),
                   [pid](const Account& account) { return account.process.pid == pid; });
  return found == accounts_.end() ? nullptr : &*found;
}

Schedule::Entry* Schedule::find(const Capture& capture) {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) {
    const bool is_as_long = entry.state != State::Done || entry.capture.length == capture.length;
    return !entry.is_given_up && entry.capture.is_like(capture) && is_as_long;
  });
  return found == entries_.rend() ? nullptr : &*found;
}

bool Schedule::is_answer(const Entry& entry, Time now) const {
  const bool is_refusal =
      entry.capture.what == What::Counts && entry.ending.status == ExitStatus::NoHeap;
  return entry.state == State::Done && !entry.is_given_up &&
         now - entry.done <= (is_refusal ? kUntilRetry : kFresh);
}

bool Schedule::is_kept(const Entry& entry, Time now) const {
  if (entry.state != State::Done || is_answer(entry, now)) return true;
  if (entry.capture.what != What::Counts) return false;
  const bool is_last = std::none_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.capture.is_like(entry.capture) && other.state == State::Done &&
           other.done > entry.done;
  });
  const bool is_served =
      std::any_of(accounts_.begin(), accounts_.end(), [&](const Account& account) {
        return account.process.pid == entry.capture.pid &&
               account.process.started == entry.capture.started;
      });
  return is_last && is_served;
}

// The longest pause so far, and a quarter more, because the heap may have grown. At most the whole
// budget: otherwise the capture could never begin.
std::chrono::nanoseconds Schedule::expected_pause(const Account& account, What what) const {
  const auto longest = is_recording(what) ? account.longest_of_recordings : account.longest_pause;
  return std::min(longest + longest / 4, per_minute_);
}

Answer Schedule::over_budget(const Account& account,
                             What what,
                             std::uint64_t asker,
                             Time now) const {
  Answer answer;
  answer.asker = asker;
  answer.outcome = Outcome::OverBudget;
  answer.budget_left = account.budget.left(now);
  answer.retry_after = std::max(std::chrono::seconds(1),
                                account.budget.wait_for(expected_pause(account, what), now));
  answer.message = fmt::format(
      "process {} may be stopped for {} ms per minute, of which {} ms are left; retry in {} s",
      account.process.pid,
      std::chrono::duration_cast<std::chrono::milliseconds>(per_minute_).count(),
      std::chrono::duration_cast<std::chrono::milliseconds>(answer.budget_left).count(),
      answer.retry_after.count());
  return answer;
}

Answer Schedule::answer_with(const Entry& entry, std::uint64_t asker, Time now) {
  Answer answer;
  answer.asker = asker;
  answer.status = entry.ending.status;
  answer.age = std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.done);
  answer.pause = entry.ending.pause.value_or(std::chrono::nanoseconds{});
  answer.message = entry.ending.message;
  answer.output = entry.ending.output.get();
  const Account* const account = account_of(entry.capture.pid);
  if (account != nullptr) answer.budget_left = account->budget.left(now);
  return answer;
}

std::optional<Answer> Schedule::ask(
    What what, pid_t pid, std::uint64_t asker, Time now, std::chrono::seconds length) {
  Answer refusal;
  refusal.asker = asker;
  const Account* const account = account_of(pid);
  if (account == nullptr) {
    refusal.outcome = Outcome::NoSuchPid;
    refusal.message = fmt::format("process {} is not served", pid);
    return refusal;
  }
  const Capture capture{what, pid, account->process.started, {}, length};
  Entry* const known = find(capture);
  if (known != nullptr && is_answer(*known, now)) return answer_with(*known, asker, now);
  if (known != nullptr && known->state != State::Done) {
    known->askers.push_back(asker);
    return {};
  }
  const auto left = account->budget.left(now);
  if (left <= std::chrono::milliseconds(1) || left < expected_pause(*account, what)) {
    const bool is_replaced = known != nullptr && what == What::Counts;
    return is_replaced ? answer_with(*known, asker, now) : over_budget(*account, what, asker, now);
  }
  const auto waiting = std::count_if(entries_.begin(), entries_.end(),
                                     [](const Entry& entry) { return entry.state != State::Done; });
  if (static_cast<std::size_t>(waiting) >= kMostWaiting) {
    refusal.outcome = Outcome::Busy;
    refusal.retry_after = std::chrono::seconds(1);
    refusal.message = "too many captures are waiting";
    return refusal;
  }
  entries_.push_back(Entry{capture, State::Waiting, {asker}});
  return {};
}

std::optional<Capture> Schedule::next(Time now) {
  std::vector<pid_t> looked_at;
  std::vector<pid_t> recorded;
  const auto others_like = [&](const Entry& entry) -> std::vector<pid_t>& {
    return is_recording(entry.capture.what) ? recorded : looked_at;
  };
  for (const Entry& entry : entries_) {
    if (entry.state == State::Running) others_like(entry).push_back(entry.capture.pid);
  }
  for (Entry& entry : entries_) {
    if (entry.state != State::Waiting) continue;
    const std::vector<pid_t>& running = others_like(entry);
    if (running.size() >= kMostRunning) continue;
    if (std::find(running.begin(), running.end(), entry.capture.pid) != running.end()) continue;
    const Account* const account = account_of(entry.capture.pid);
    const auto left = account == nullptr ? std::chrono::nanoseconds{} : account->budget.left(now);
    entry.state = State::Running;
    entry.begun = now;
    entry.capture.longest_pause = std::max(
        std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(left));
    return entry.capture;
  }
  return {};
}

// Charges the process's budget. A capture that ended without reporting its pause may have stopped
// the process for as long as it was allowed to.
void Schedule::settle(const Entry& entry, Time now) {
  Account* const account = account_of(entry.capture.pid);
  if (account == nullptr || account->process.started != entry.capture.started) return;
  const std::chrono::nanoseconds most =
      std::min<std::chrono::nanoseconds>(entry.capture.longest_pause, now - entry.begun);
  const std::chrono::nanoseconds unknown =
      has_stopped_nothing(entry.ending.status) ? std::chrono::nanoseconds{} : most;
  const std::chrono::nanoseconds pause = entry.ending.pause.value_or(unknown);
  account->budget.spend(pause, now);
  account->pause += pause;
  std::chrono::nanoseconds& longest =
      is_recording(entry.capture.what) ? account->longest_of_recordings : account->longest_pause;
  longest = std::max(longest, entry.ending.pause.value_or(std::chrono::nanoseconds{}));
  account->processor_time += entry.ending.processor_time;
  ++account->captures;
  if (entry.ending.output.empty()) ++account->failures;
}

std::vector<Answer> Schedule::finish(const Capture& capture, Ending ending, Time now) {
  std::vector<Answer> answers;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.state == State::Running && entry.capture.is_like(capture);
  });
  if (found == entries_.end()) return answers;
  found->state = State::Done;
  found->done = now;
  found->ending = std::move(ending);
  settle(*found, now);
  for (const std::uint64_t asker : found->askers) {
    answers.push_back(answer_with(*found, asker, now));
  }
  found->askers = {};
  return answers;
}

std::vector<Capture> Schedule::forget(std::uint64_t asker) {
  for (Entry& entry : entries_) std::erase(entry.askers, asker);
  return give_up_unwanted();
}

std::vector<Capture> Schedule::forget_all() {
  for (Entry& entry : entries_) entry.askers.clear();
  return give_up_unwanted();
}

std::vector<Capture> Schedule::give_up_unwanted() {
  const auto is_unwanted = [](const Entry& entry) {
    return is_recording(entry.capture.what) && entry.state != State::Done && entry.askers.empty() &&
           !entry.is_given_up;
  };
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.state == State::Waiting && is_unwanted(entry);
  });
  std::vector<Capture> ended;
  for (Entry& entry : entries_) {
    if (!is_unwanted(entry)) continue;
    entry.is_given_up = true;
    ended.push_back(entry.capture);
  }
  return ended;
}

void Schedule::drop_old(Time now) {
  std::vector<bool> kept;
  for (const Entry& entry : entries_) kept.push_back(is_kept(entry, now));
  std::size_t i = 0;
  std::erase_if(entries_, [&](const Entry&) { return !kept[i++]; });
}

}  // namespace heapattach::serve
