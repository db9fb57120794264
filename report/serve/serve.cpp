#include "report/serve/serve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/sandbox/sandbox_walls.h"
#include "report/serve/front.h"
#include "report/serve/running.h"
#include "report/serve/wire.h"

namespace heapattach::serve {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr int kTickMs = 500;
constexpr seconds kListAge{1};            // of the list of processes
constexpr std::size_t kMostCrashes = 10;  // of the front within kCrashWindow
constexpr seconds kCrashWindow{60};
constexpr seconds kForRuns{5};  // for runs to end when the server ends

// Signals are read from a descriptor while this lives.
class SignalQueue {
 public:
  SignalQueue() {
    std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the ends of children would be lost
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&wanted, number);
    ::sigprocmask(SIG_BLOCK, &wanted, &before_);
    queue_ = Fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalQueue() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  [[nodiscard]] int fd() const { return queue_.get(); }
  // Whether we have been asked to end.
  [[nodiscard]] bool read() const {
    bool is_asked = false;
    signalfd_siginfo one{};
    while (::read(queue_.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
      is_asked |= one.ssi_signo != SIGCHLD;
    }
    return is_asked;
  }

 private:
  sigset_t before_{};
  Fd queue_;
};

std::chrono::nanoseconds time_of(const timeval& time) {
  return seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

class Keeper {
 public:
  Keeper(const ServeOptions& options, const Listener& listener, Admission admission)
      : options_(options),
        listener_(listener),
        admission_(std::move(admission)),
        schedule_(options.pause_budget) {}

  ~Keeper() { end_all(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  Result<void> work() {
    while (true) {
      if (front_ <= 0) HA_TRY(start_front());
      start_runs();
      wait();
      if (signals_.read()) return {};
      reap();
      take_asks();
      for (Running& running : running_) {
        if (!running.errors().empty()) running.read_errors();
      }
      schedule_.drop_old(Clock::now());
    }
  }

 private:
  void wait() {
    std::vector<pollfd> waits{{signals_.fd(), POLLIN, 0}, {wire_.get(), POLLIN, 0}};
    for (const Running& running : running_) waits.push_back({running.errors().get(), POLLIN, 0});
    ::poll(waits.data(), waits.size(), kTickMs);
  }

  Result<void> start_front() {
    const auto now = Clock::now();
    std::erase_if(crashes_, [now](Clock::time_point at) { return now - at > kCrashWindow; });
    if (crashes_.size() > kMostCrashes) {
      return Error{ErrorKind::Os,
                   fmt::format("the process that reads HTTP has ended {} times within {} s",
                               crashes_.size(), kCrashWindow.count())};
    }
    auto [ours, its] = HA_TRY(make_wire());
    const pid_t keeper = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return os_error("fork", errno);
    if (pid == 0) {
      close_all_but({listener_.socket().get(), its.get(), STDERR_FILENO});
      const std::string wrong =
          run_front({listener_.socket().get(), its.get(), keeper, admission_});
      if (!wrong.empty()) options_.say(wrong);
      ::_exit(wrong.empty() ? 0 : 1);
    }
    front_ = pid;
    wire_ = std::move(ours);
    return {};
  }

  void start_runs() {
    while (const auto capture = schedule_.next(Clock::now())) {
      auto running = Running::start(options_, *capture);
      if (running) {
        running_.push_back(std::move(*running));
        continue;
      }
      Ending ending;
      ending.status = ExitStatus::Failed;
      ending.pause = std::chrono::nanoseconds{};
      ending.message = running.error().message();
      answer_all(schedule_.finish(*capture, std::move(ending), Clock::now()));
    }
  }

  void reap() {
    int status = 0;
    rusage used{};
    while (true) {
      const pid_t pid = ::wait4(-1, &status, WNOHANG, &used);
      if (pid <= 0) return;
      if (pid == front_) {
        crashes_.push_back(Clock::now());
        options_.say("the process that reads HTTP has ended; starting another");
        front_ = -1;
        wire_.reset();
        end_runs(schedule_.forget_all());
        continue;
      }
      finish_run(pid, status, time_of(used.ru_utime) + time_of(used.ru_stime));
    }
  }

  void finish_run(pid_t pid, int status, std::chrono::nanoseconds used) {
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [pid](const Running& one) { return one.pid() == pid; });
    if (found == running_.end()) return;
    Running ended = std::move(*found);
    running_.erase(found);
    const Capture capture = ended.capture();
    answer_all(schedule_.finish(capture, ended.end(status, used), Clock::now()));
  }

  // If the front is gone, the answers are dropped; the next front asks again.
  void answer_all(const std::vector<Answer>& answers) {
    for (const Answer& answer : answers) answer_one(answer);
  }
  void answer_one(const Answer& answer) {
    if (!wire_.empty() && !send(wire_.get(), answer)) end_front();
  }

  void end_runs(const std::vector<Capture>& captures) const {
    for (const Capture& capture : captures) {
      for (const Running& one : running_) {
        if (one.capture().is_like(capture)) ::kill(one.pid(), SIGTERM);
      }
    }
  }

  // Kills the front. Another one is started once this one has been reaped.
  void end_front() {
    if (front_ > 0) ::kill(front_, SIGKILL);
    wire_.reset();
  }

  void take_asks() {
    AskMessage ask;
    while (!wire_.empty()) {
      const Received received = receive(wire_.get(), ask);
      if (received == Received::End) end_front();
      if (received != Received::Message) return;
      take(ask);
    }
  }

  void take(const AskMessage& ask) {
    if (ask.is_over) return end_runs(schedule_.forget(ask.asker));
    refresh_processes();
    if (ask.what == What::Processes) return answer_one(list_for(ask.asker));
    const bool is_known = ask.what == What::Counts ||
                          std::any_of(kPages.begin(), kPages.end(),
                                      [&](const Page& page) { return page.what == ask.what; });
    const bool is_allowed = !is_recording(ask.what) || options_.allows_recording;
    if (!is_known || !is_allowed) return end_front();
    seconds length{};
    if (is_recording(ask.what)) {
      length = std::clamp(seconds(ask.seconds), seconds(1), kLongestRecording);
    }
    const auto answer = schedule_.ask(ask.what, ask.pid, ask.asker, Clock::now(), length);
    if (answer) answer_one(*answer);
  }

  void refresh_processes() {
    const auto now = Clock::now();
    if (now - listed_ < kListAge) return;
    listed_ = now;
    schedule_.update(options_.processes());
  }

  Answer list_for(std::uint64_t asker) {
    const auto bytes = encode(schedule_, options_.pause_budget, Clock::now());
    list_ = Fd(::memfd_create("processes", MFD_CLOEXEC));
    Answer answer;
    answer.asker = asker;
    const ssize_t done = ::write(list_.get(), bytes.data(), bytes.size());
    if (done == static_cast<ssize_t>(bytes.size())) answer.output = list_.get();
    return answer;
  }

  void end_all() {
    end_front();
    front_ = -1;
    for (const Running& running : running_) ::kill(running.pid(), SIGTERM);
    const auto until = Clock::now() + kForRuns;
    while (!running_.empty() && Clock::now() < until) {
      wait();
      static_cast<void>(signals_.read());
      reap();
    }
  }

  const ServeOptions& options_;
  const Listener& listener_;
  Admission admission_;
  SignalQueue signals_;
  Schedule schedule_;
  std::vector<Running> running_;
  pid_t front_ = -1;
  Fd wire_;
  Fd list_;
  Clock::time_point listed_{};
  std::vector<Clock::time_point> crashes_;
};

}  // namespace

Result<void> serve(const ServeOptions& options) {
  Address address = HA_TRY(parse_address(options.listen));
  Admission admission;
  admission.is_local_socket = !address.unix_path.empty();
  admission.allows_recording = options.allows_recording;
  if (!options.token_file.empty()) admission.token = HA_TRY(read_token(options.token_file));
  if (!address.is_loopback && admission.token.empty()) {
    return Error{ErrorKind::Usage,
                 fmt::format("other machines can reach {}, which needs a token", options.listen)}
        .advise("--token-file FILE, or listen on 127.0.0.1 behind a proxy");
  }
  const Listener listener = HA_TRY(Listener::open(std::move(address)));
  Keeper keeper(options, listener, std::move(admission));
  options.say(fmt::format("listening on {}", shown(listener.address())));
  return keeper.work();
}

}  // namespace heapattach::serve
