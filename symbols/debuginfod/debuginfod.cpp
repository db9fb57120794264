#include "symbols/debuginfod/debuginfod.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "attach/base/pipe.h"
#include "attach/sandbox/open_file.h"
#include "attach/sandbox/sandbox_worker.h"
#include "symbols/debuginfod/cache_directory.h"
#include "symbols/debuginfod/downloader.h"
#include "symbols/debuginfod/transfers.h"

namespace heapattach {

namespace {

using debuginfod::Transfer;
using debuginfod::Transfers;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLongest{120'000};  // of one run
constexpr milliseconds kPatience{10'000};  // for a server that sends nothing
constexpr milliseconds kToCancel{500};     // until the worker is killed
constexpr milliseconds kPoll{100};
constexpr std::uint64_t kLargestFile = std::uint64_t{4} << 30;
constexpr std::size_t kLongestBuildId = 128;

const char* value_of(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

// Checked because a build id becomes part of paths and of requests.
bool is_build_id(std::string_view text) {
  return text.size() > 2 && text.size() <= kLongestBuildId && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// DEBUGINFOD_MAXSIZE, in bytes, if it is smaller than our limit.
std::uint64_t most_file_bytes() {
  const std::string_view text = value_of("DEBUGINFOD_MAXSIZE");
  std::uint64_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes == 0 ? kLargestFile : std::min(bytes, kLargestFile);
}

// Half of the time that is left is enough for the rest of a report.
milliseconds time_for(const Deadline& deadline) {
  if (deadline.at == Clock::time_point::max()) return kLongest;
  const auto left = std::chrono::duration_cast<milliseconds>(deadline.at - Clock::now());
  return std::clamp(left / 2, milliseconds(0), kLongest);
}

std::string in_seconds(milliseconds time) {
  if (time < milliseconds(1000)) return fmt::format("{} ms", time.count());
  return fmt::format("{:.0f} s", std::chrono::duration<double>(time).count());
}

std::string reason_of(int failure) {
  switch (failure) {
    case EHOSTUNREACH: return "the server is unknown or cannot be reached";
    case ETIMEDOUT:
    case ETIME: return "the server did not answer in time";
    case EFBIG: return "the file is too large";
    default: return std::strerror(failure);  // NOLINT(concurrency-mt-unsafe): one thread
  }
}

// "libc.so.6, ld.so and 3 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

}  // namespace

// One worker, from its start to its end.
class Debuginfod::Run {
 public:
  Run(std::vector<Wanted> wanted, const Deadline& deadline, const DebuginfodEvents& events)
      : wanted_(std::move(wanted)),
        deadline_(deadline),
        events_(events),
        transfers_(wanted_.size()),
        time_(time_for(deadline)),
        patience_(debuginfod_patience(value_of("DEBUGINFOD_TIMEOUT"))) {}

  Result<void> download(const std::string& cache) {
    debuginfod::Download what{{}, cache, most_file_bytes()};
    for (const Wanted& one : wanted_) what.build_ids.push_back(one.build_id);
    Pipe pipe = HA_TRY(make_pipe("pipe2"));
    const pid_t pid = HA_TRY(start(what, pipe.writes.get()));
    const Worker worker(pid);
    pipe.writes.reset();
    follow(pipe.reads);
    if (events_.on_end) events_.on_end();
    if (!transfers_.is_over()) cancel(pid, pipe.reads);
    return {};
  }

  [[nodiscard]] const Transfers& transfers() const { return transfers_; }
  // Why the run ended early; empty if it did not.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] milliseconds took() const {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - begin_);
  }

 private:
  static Result<pid_t> start([[maybe_unused]] const debuginfod::Download& what,
                             [[maybe_unused]] int output) {
#ifdef HEAPATTACH_IS_STATIC
    return Error{ErrorKind::Unsupported, "this program is linked statically"};
#else
    return debuginfod::fork_downloader(what, output);
#endif
  }

  void follow(const Fd& lines) {
    const auto until = begin_ + time_;
    while (!transfers_.is_over() && !deadline_.is_interrupted()) {
      if (!read(lines)) {
        if (!transfers_.is_over()) problem_ = "the download failed";
        return;
      }
      const auto now = Clock::now();
      if (const int failure = out_of_reach(); failure != 0) {
        problem_ = reason_of(failure);
        return;
      }
      if (transfers_.stalled(now, patience_)) {
        problem_ = fmt::format(
            "the server sent nothing for {} (--no-debuginfod, or a shorter DEBUGINFOD_TIMEOUT, "
            "avoids the wait)",
            in_seconds(patience_));
        return;
      }
      if (now >= until) {
        problem_ = fmt::format("not everything arrived within {}; try: a longer --timeout",
                               in_seconds(time_));
        return;
      }
      show();
    }
  }

  // The errno if the only server cannot be reached, so that asking for more files is useless;
  // otherwise 0.
  [[nodiscard]] int out_of_reach() const {
    if (std::string_view(value_of("DEBUGINFOD_URLS")).find(' ') != std::string_view::npos) return 0;
    for (const Transfer& one : transfers_.all()) {
      const bool is_far = one.failure == ECONNREFUSED || one.failure == EHOSTUNREACH ||
                          one.failure == ENETUNREACH || one.failure == ETIMEDOUT;
      if (is_far) return one.failure;
    }
    return 0;
  }

  // Gives the worker time to remove unfinished files. What it reports from now on is ignored.
  void cancel(pid_t pid, const Fd& lines) {
    ::kill(pid, SIGTERM);
    const auto until = Clock::now() + kToCancel;
    const Transfers known = transfers_;
    while (Clock::now() < until && read(lines)) {
    }
    transfers_ = known;
  }

  // Reads the lines that have arrived, or waits a moment for some. Returns false at the end of the
  // pipe.
  bool read(const Fd& lines) {
    pollfd ready{lines.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(kPoll.count())) <= 0) return true;
    std::array<char, 4096> piece;  // NOLINT(*-member-init): read() fills it
    const ssize_t count = ::read(lines.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    text_.append(piece.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = text_.find('\n'); end != std::string::npos;
         end = text_.find('\n', begin)) {
      transfers_.read(std::string_view(text_).substr(begin, end - begin), Clock::now());
      begin = end + 1;
    }
    text_.erase(0, begin);
    return text_.size() <= piece.size();  // no line is longer
  }

  void show() const {
    if (!events_.on_progress) return;
    DebuginfodEvents::Progress progress;
    progress.asked = transfers_.ended();
    progress.all = wanted_.size();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const Transfer& one = transfers_.all()[i];
      if (one.state != Transfer::State::Begun || one.all == 0) continue;
      if (one.all < progress.bytes) continue;
      progress.name = wanted_[i].name;
      progress.done = one.done;
      progress.bytes = one.all;
    }
    events_.on_progress(progress);
  }

  std::vector<Wanted> wanted_;
  const Deadline& deadline_;
  const DebuginfodEvents& events_;
  Transfers transfers_;
  Clock::time_point begin_ = Clock::now();
  milliseconds time_;
  milliseconds patience_;
  std::string text_;  // the beginning of a line
  std::string problem_;
};

std::shared_ptr<Debuginfod> Debuginfod::of_environment(DebuginfodEvents events) {
  if (*value_of("DEBUGINFOD_URLS") == '\0') return nullptr;
#ifdef HEAPATTACH_IS_STATIC
  if (events.on_step) {
    events.on_step(
        "DEBUGINFOD_URLS is ignored: this program is linked statically and cannot load "
        "libdebuginfod");
  }
  return nullptr;
#else
  return std::make_shared<Debuginfod>(std::move(events));
#endif
}

std::vector<DebugServer::Found> Debuginfod::find(std::span<const Wanted> wanted,
                                                 const Deadline& deadline) {
  std::vector<Found> found(wanted.size());
  std::vector<Wanted> asked;
  std::vector<std::size_t> places;  // parallel
  for (std::size_t i = 0; i < wanted.size() && !has_given_up_; ++i) {
    if (!is_build_id(wanted[i].build_id) || missing_.contains(wanted[i].build_id)) continue;
    asked.push_back(wanted[i]);
    places.push_back(i);
  }
  if (asked.empty()) return found;
  const auto cache = debuginfod::own_cache(debuginfod::CacheVariables::of_environment());
  if (!cache) {
    has_given_up_ = true;
    warn(fmt::format(
        "debuginfod is not asked: {}; set DEBUGINFOD_CACHE_PATH to a directory of yours",
        cache.error().message()));
    return found;
  }
  Run run(asked, deadline, events_);
  auto done = run.download(*cache);
  if (done && !run.transfers().loading_problem().empty()) {
    done = Error{ErrorKind::Unsupported, run.transfers().loading_problem()};
  }
  if (!done) {
    has_given_up_ = true;
    step("DEBUGINFOD_URLS is ignored: " + done.error().message());
    return found;
  }
  std::vector<Found> files = collect(run, asked, deadline);
  for (std::size_t i = 0; i < files.size(); ++i) found[places[i]] = std::move(files[i]);
  return found;
}

std::vector<DebugServer::Found> Debuginfod::collect(const Run& run,
                                                    const std::vector<Wanted>& asked,
                                                    const Deadline& deadline) {
  std::vector<Found> found(asked.size());
  std::string problem = run.problem();
  std::vector<std::string> lacking;
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Transfer& one = run.transfers().all()[i];
    if (one.state == Transfer::State::Failed && one.failure == ENOENT) {
      missing_.insert(asked[i].build_id);
      continue;
    }
    auto file = one.state == Transfer::State::Found
                    ? open_regular(one.path)
                    : Error{ErrorKind::Os, one.failure == 0 ? "" : reason_of(one.failure)};
    if (file) {
      found[i] = {std::move(*file), one.path};
      ++arrived;
      continue;
    }
    lacking.push_back(asked[i].name);
    if (problem.empty()) problem = file.error().message();
  }
  step(fmt::format("debuginfod had {} of {} debug files, after {}", arrived, asked.size(),
                   in_seconds(run.took())));
  if (!lacking.empty() && !deadline.is_interrupted()) {
    has_given_up_ = true;
    warn(fmt::format("no debug file from debuginfod for {}: {}", listed(lacking), problem));
  }
  return found;
}

void Debuginfod::reject(const Wanted& wanted, const std::string& why) {
  missing_.insert(wanted.build_id);
  warn(fmt::format("debuginfod sent a wrong debug file for {}: {}", wanted.name, why));
}

void Debuginfod::warn(const std::string& text) const {
  if (events_.on_warning) events_.on_warning(text);
}

void Debuginfod::step(const std::string& text) const {
  if (events_.on_step) events_.on_step(text);
}

milliseconds debuginfod_patience(const char* timeout) {
  const std::string_view text = timeout;
  constexpr long kMost = 86'400;
  long seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (seconds <= 0) return kPatience;
  return milliseconds(1000 * std::min(seconds, kMost));
}

}  // namespace heapattach
