#include "report/cli/run_when.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/first_to_die.h"
#include "inject/headroom.h"
#include "report/cli/errors.h"
#include "report/cli/find_processes.h"
#include "report/cli/guarded_run.h"
#include "report/cli/kept_files.h"
#include "report/cli/output_name.h"
#include "report/cli/report_table.h"
#include "report/cli/run_many.h"
#include "report/cli/sources.h"
#include "report/format/export/formats.h"
#include "report/text/human_bytes.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kBetweenLists{2};     // of processes, for --name and --tree
constexpr seconds kBetweenReports{10};  // for conditions that need one
constexpr seconds kForEnd{10};          // that a run may take to end when it is asked to
constexpr seconds kForHook{30};         // … when the watch ends
constexpr std::uint64_t kUsualBytes = std::uint64_t{2} << 30;

// SIGINT, SIGTERM and SIGCHLD wait until wait() takes them, while this lives.
class WaitingSignals {
 public:
  WaitingSignals() {
    std::signal(SIGCHLD, SIG_DFL);  // a process that ignores it cannot learn how a child ended
    sigemptyset(&wanted_);
    for (const int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&wanted_, number);
    ::sigprocmask(SIG_BLOCK, &wanted_, &before_);
  }
  ~WaitingSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  WaitingSignals(const WaitingSignals&) = delete;
  WaitingSignals& operator=(const WaitingSignals&) = delete;

  // Waits for one at most for `time`. True if we have been asked to end, now or before.
  bool wait(milliseconds time) {
    const auto whole = std::chrono::duration_cast<seconds>(time);
    const timespec most{whole.count(), std::chrono::nanoseconds(time - whole).count()};
    const int number = ::sigtimedwait(&wanted_, nullptr, &most);
    is_asked_ |= number == SIGINT || number == SIGTERM;
    return is_asked_;
  }
  [[nodiscard]] bool is_asked() const { return is_asked_; }

 private:
  sigset_t wanted_{};
  sigset_t before_{};
  bool is_asked_ = false;
};

// A child process, which is asked to end and reaped. With a leader, its whole group is asked.
class Child {
 public:
  enum class Kind { Single, Leader };
  Child() = default;
  explicit Child(pid_t pid, Kind kind = Kind::Single) : pid_(pid), kind_(kind) {}
  ~Child() { end(); }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), kind_(other.kind_) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool runs() const { return pid_ > 0; }
  // Its exit status once it has ended: 1 if a signal ended it.
  std::optional<int> ended() {
    int status = 0;
    if (pid_ <= 0) return {};
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return {};
    const bool is_known = ended == pid_;
    pid_ = -1;  // another process may get the number
    if (!is_known) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  void signal(int number) const {
    if (pid_ > 0) ::kill(kind_ == Kind::Leader ? -pid_ : pid_, number);
  }
  void end() {
    for (const int number : {SIGTERM, SIGKILL}) {
      signal(number);
      const auto until = Clock::now() + kForEnd;
      while (runs() && Clock::now() < until) {
        if (ended()) return;
        ::usleep(10'000);
      }
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  Kind kind_ = Kind::Single;
};

// A running hook. It is asked to end when it is late, and killed if it does not end.
struct Hook {
  Child child;
  Clock::time_point until;
  bool is_asked = false;
};

void become_a_child(pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
}

// A watched process.
struct Watched {
  std::uint64_t started = 0;
  std::string name;
  GrowthPerMinute growth{};
  std::optional<Clock::time_point> captured{};  // when the last capture ended
};

// The report that decides a condition of --fail-if; it ends with status 10 if that is true.
Options report_for(const Options& given, const FailIf& condition, pid_t pid) {
  Options one = given;
  switch (condition.what) {
    case FailIf::What::Retained: one.report = Report::Sizes; break;
    case FailIf::What::Growth:
    case FailIf::What::GrowthBytes:
      one.report = Report::Watch;
      one.interval = seconds(60);
      one.rounds = 1;
      break;
    case FailIf::What::Found:
    case FailIf::What::Stuck: one.report = Report::Diagnose; break;
    case FailIf::What::Deadlock: one.report = Report::Stacks; break;
    default: one.report = Report::Count;
  }
  one.fail_if = {condition};
  one.allow_missing = true;
  one.format = formats_of(row_of(one.report)).front();
  one.output = "/dev/null";
  one.quiet = true;
  one.pid = pid;
  one.pids = {pid};
  return one;
}

class Watcher {
 public:
  Watcher(const Options& options, const Console::Settings& settings)
      : options_(options), settings_(settings), console_(settings) {}

  ExitStatus work() {
    if (const auto made = make_capture_directory(options_.output); !made) {
      return report_failure(made.error(), Stage::Output, Deadline{}, console_);
    }
    while (!signals_.is_asked()) {
      list();
      if (!may_come_back()) name_missing();
      if (watched_.empty() && !may_come_back()) break;
      look_at_all();
      tend_hooks();
      static_cast<void>(signals_.wait(options_.interval));
    }
    finish_hooks();
    console_.say(fmt::format("the watch ended after {}", counted(captures_, "capture")));
    return has_seen_any_ ? ExitStatus::Complete : ExitStatus::Gone;
  }

 private:
  [[nodiscard]] bool may_come_back() const { return options_.tree || !options_.name.empty(); }

  // Forgets processes that have ended, and finds new ones.
  void list() {
    const auto now = Clock::now();
    if (may_come_back() && now - listed_ < kBetweenLists) return;
    listed_ = now;
    const auto chosen = chosen_processes(options_);
    const std::vector<pid_t> ours = our_processes();
    std::map<pid_t, Watched> present;
    for (const pid_t pid : chosen ? *chosen : std::vector<pid_t>()) {
      const auto process = Process::open(pid);
      const auto listed = listed_process(pid);
      const bool is_ours = std::find(ours.begin(), ours.end(), pid) != ours.end();
      if (is_ours || !process || !listed) continue;
      const auto known = watched_.find(pid);
      const bool is_same =
          known != watched_.end() && known->second.started == process->start_ticks();
      if (!is_same) console_.say(fmt::format("watching process {}", pid));
      present[pid] = is_same ? std::move(known->second)
                             : Watched{process->start_ticks(), listed->name, {}, {}};
    }
    for (const auto& [pid, watched] : watched_) {
      if (!present.contains(pid)) console_.say(fmt::format("process {} has ended", pid));
    }
    watched_ = std::move(present);
    has_seen_any_ |= !watched_.empty();
  }

  // Says once which of the given processes there are not.
  void name_missing() {
    if (std::exchange(has_named_missing_, true)) return;
    for (const pid_t pid : options_.pids) {
      if (!watched_.contains(pid)) console_.error(fmt::format("there is no process {}", pid));
    }
  }

  void look_at_all() {
    for (auto& [pid, watched] : watched_) {
      if (signals_.is_asked()) return;
      const auto numbers = read_numbers(pid);
      if (!numbers) continue;
      watched.growth.add(numbers->resident_bytes, Clock::now());
      if (is_cooling(watched)) continue;
      for (const When& when : options_.when.conditions) {
        if (when.what == When::What::Report) continue;
        if (!holds(when, *numbers, watched.growth.bytes())) continue;
        looking_.end();
        capture(pid, watched, when);
        break;
      }
    }
    look_with_reports();
  }

  [[nodiscard]] bool is_cooling(const Watched& watched) const {
    return watched.captured && Clock::now() - *watched.captured < options_.when.cooldown;
  }

  // One report at a time decides one condition of one process, while the numbers are watched.
  void look_with_reports() {
    if (const auto status = looking_.ended()) {
      const auto found = watched_.find(looked_at_);
      const bool is_true = *status == static_cast<int>(ExitStatus::FailIfHeld);
      if (is_true && found != watched_.end()) capture(looked_at_, found->second, *decided_);
      if (!is_true && *status != 0 && found != watched_.end()) tell_undecided(*status);
    }
    if (looking_.runs() || Clock::now() < next_look_) return;
    std::vector<std::pair<pid_t, const When*>> all;
    for (const auto& [pid, watched] : watched_) {
      for (const When& when : options_.when.conditions) {
        if (when.what == When::What::Report && !is_cooling(watched)) all.emplace_back(pid, &when);
      }
    }
    if (all.empty()) return;
    std::tie(looked_at_, decided_) = all[turn_++ % all.size()];
    const auto between = std::max<milliseconds>(kBetweenReports, options_.interval);
    next_look_ = Clock::now() + between / static_cast<int>(all.size());
    Options one = report_for(options_, decided_->condition, looked_at_);
    looking_ = start(one, most_bytes(), Errors::Dropped);
  }

  // Says once per process and condition that a report could not decide it. The report itself says
  // why, when the user asks for it.
  void tell_undecided(int status) {
    if (!undecided_.insert({looked_at_, decided_}).second) return;
    console_.error(
        fmt::format("process {}: cannot tell whether '{}' is true: its report ended with status {}",
                    looked_at_, decided_->text, status));
  }

  // The most bytes of all captures together.
  [[nodiscard]] std::uint64_t bytes_of_all() const {
    return options_.most_bytes == 0 ? kUsualBytes : options_.most_bytes;
  }
  // No file becomes larger than its share of that, and half of the disk's free space stays free.
  [[nodiscard]] std::uint64_t most_bytes() const {
    struct statvfs disk {};
    std::uint64_t left = bytes_of_all();
    if (::statvfs(options_.output.c_str(), &disk) == 0) left = disk.f_bavail * disk.f_frsize / 2;
    return std::max<std::uint64_t>(1, std::min(bytes_of_all() / options_.when.keep, left));
  }

  // Runs a report in a process of its own.
  enum class Errors { Shown, Dropped };
  Child start(const Options& one, std::uint64_t most, Errors errors) {
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid != 0) return Child(pid);
    become_a_child(parent);
    const int null = errors == Errors::Dropped ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (null >= 0) ::dup2(null, STDERR_FILENO);
    be_first_to_die();
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Console::Settings settings = settings_;
    settings.quiet = one.quiet;
    settings.is_terminal = false;
    ::_exit(static_cast<int>(run_guarded_work(one, real_sources(), settings)));
  }

  // False if no report was written.
  bool run(Options one,
           Report report,
           pid_t pid,
           const std::string& path,
           Errors errors = Errors::Shown) {
    one.report = report;
    one.format = report == Report::Snapshot ? find_format("jsonl", row_of(report).writers)
                                            : find_format("table", row_of(report).writers);
    one.with_gzip = report == Report::Snapshot;
    one.pid = pid;
    one.pids = pid == 0 ? std::vector<pid_t>() : std::vector<pid_t>{pid};
    one.name.clear();
    one.tree = false;
    one.quiet = true;
    one.colour = ColourChoice::Never;
    one.output.clear();
    for (const char letter : path) one.output += letter == '%' ? "%%" : std::string(1, letter);
    Child child = start(one, most_bytes(), errors);
    while (child.runs()) {
      if (const auto status = child.ended()) return is_report(static_cast<ExitStatus>(*status));
      static_cast<void>(signals_.wait(milliseconds(100)));
      if (signals_.is_asked()) return false;  // ~Child waits for its end
    }
    return false;
  }

  // The reports for which there is memory. In the target's own control group, the memory that we
  // use would bring its kill nearer.
  enum class Room { ForAll, ForStacks, ForNothing };
  Room room_for(pid_t pid) {
    constexpr std::uint64_t kForStacks = std::uint64_t{64} << 20;
    const auto process = Process::open(pid);
    const auto facts = process ? clone_facts(*process) : Result<CloneFacts>(process.error());
    if (!facts) return Room::ForAll;  // the report says why it cannot look
    const std::uint64_t for_all = kForStacks + 2 * facts->anonymous_bytes;
    std::uint64_t left = facts->available_bytes;
    for (const GroupMemory& group : facts->groups) {
      if (group.is_ours) left = std::min(left, group.free_bytes);
    }
    if (left >= for_all) return Room::ForAll;
    console_.error(fmt::format(
        "process {}: a snapshot may need {}, and only {} are left where heapattach runs; {}", pid,
        human_bytes(for_all), human_bytes(left),
        left >= kForStacks ? "saving its stacks instead" : "saving nothing"));
    return left >= kForStacks ? Room::ForStacks : Room::ForNothing;
  }

  void capture(pid_t pid, Watched& watched, const When& when) {
    console_.say(fmt::format("process {}: {}", pid, when.text));
    const std::string name = capture_name(watched.name, pid, file_time());
    const std::string path = options_.output + "/" + name;
    const Room room = room_for(pid);
    // The capture may fail, so older ones are removed only if it needs their bytes.
    const std::uint64_t share = bytes_of_all() / options_.when.keep;
    if (room != Room::ForNothing) make_room(options_.output, bytes_of_all() - share);
    std::string first;
    std::string second;
    if (room == Room::ForAll) {
      first = path + ".jsonl.gz";
      if (!run(options_, Report::Snapshot, pid, first)) first.clear();
      second = path + ".diagnosis.txt";
      if (!signals_.is_asked() && !diagnose(pid, first, second)) second.clear();
    } else if (room == Room::ForStacks) {
      first = path + ".stacks.txt";
      if (!run(options_, Report::Stacks, pid, first)) first.clear();
    }
    watched.captured = Clock::now();
    if (first.empty() && second.empty()) {
      if (room != Room::ForNothing) {
        console_.error(fmt::format("process {}: nothing could be saved", pid));
      }
      return;
    }
    ++captures_;
    remove_surplus(options_.output, options_.when.keep);
    console_.say(fmt::format("saved {}", first.empty() ? second : first));
    if (!options_.when.hook.empty()) run_hook(first, second, pid);
  }

  // Diagnoses the live process, or its snapshot if it has ended meanwhile. If there is no snapshot,
  // its error has been shown, and that of the diagnosis is the same.
  bool diagnose(pid_t pid, const std::string& snapshot, const std::string& path) {
    const Errors errors = snapshot.empty() ? Errors::Dropped : Errors::Shown;
    if (run(options_, Report::Diagnose, pid, path, errors)) return true;
    if (snapshot.empty() || signals_.is_asked()) return false;
    Options of_file = options_;
    of_file.file = snapshot;
    return run(of_file, Report::Diagnose, 0, path);
  }

  // The watch goes on while it runs.
  void run_hook(const std::string& first, const std::string& second, pid_t pid) {
    const std::string number = std::to_string(pid);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      become_a_child(parent);
      ::execl("/bin/sh", "sh", "-c", options_.when.hook.c_str(), "heapattach", first.c_str(),
              second.c_str(), number.c_str(), nullptr);
      ::_exit(127);
    }
    ::setpgid(child, child);  // here, too, since either may be first
    hooks_.push_back({Child(child, Child::Kind::Leader), Clock::now() + options_.when.cooldown});
  }

  // Says which hooks failed, and ends those that take longer than the cooldown.
  void tend_hooks() {
    for (Hook& hook : hooks_) {
      const auto status = hook.child.ended();
      if (status && *status != 0) {
        console_.error(fmt::format("the hook ended with status {}", *status));
      }
      if (!hook.child.runs() || Clock::now() < hook.until) continue;
      hook.child.signal(hook.is_asked ? SIGKILL : SIGTERM);
      if (!hook.is_asked) console_.error("the hook takes longer than the cooldown; ending it");
      hook.is_asked = true;
      hook.until = Clock::now() + kForEnd;
    }
    std::erase_if(hooks_, [](const Hook& hook) { return !hook.child.runs(); });
  }

  void finish_hooks() {
    for (Hook& hook : hooks_) hook.until = std::min(hook.until, Clock::now() + kForHook);
    const auto last = Clock::now() + kForHook + 2 * kForEnd;  // the kernel may not end one at once
    while (!hooks_.empty() && Clock::now() < last) {
      tend_hooks();
      if (!hooks_.empty()) ::usleep(10'000);
    }
  }

  const Options& options_;
  const Console::Settings& settings_;
  Console console_;
  WaitingSignals signals_;
  std::map<pid_t, Watched> watched_;
  Clock::time_point listed_{};
  bool has_seen_any_ = false;
  bool has_named_missing_ = false;
  std::uint64_t captures_ = 0;
  Child looking_;  // a report that decides the condition `decided_` of the process `looked_at_`
  pid_t looked_at_ = 0;
  const When* decided_ = nullptr;
  std::set<std::pair<pid_t, const When*>> undecided_;  // that the user has been told of
  std::size_t turn_ = 0;
  Clock::time_point next_look_{};
  std::vector<Hook> hooks_;
};

}  // namespace

ExitStatus run_when(const Options& options, const Console::Settings& settings) {
  return Watcher(options, settings).work();
}

}  // namespace heapattach
