#include "report/cli/console.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <functional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/format/write/table.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

constexpr auto kProgressEvery = 100ms;
constexpr std::size_t kMostLate = std::size_t{1} << 20;

// Working threads handle no signals: a thread that holds a target blocks them at times.
std::thread thread_without_signals(const std::function<void()>& work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(work);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

bool wants_colour(ColourChoice choice, bool is_terminal, const char* no_color) {
  if (choice != ColourChoice::Auto) return choice == ColourChoice::Always;
  return is_terminal && (no_color == nullptr || *no_color == '\0');
}

Console::Console(const Settings& settings) : settings_(settings) {}

Console::~Console() {
  {
    const std::lock_guard lock(progress_mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (drawing_.joinable()) drawing_.join();
  clear_progress();
}

void Console::write(std::string_view text) {
  if (is_unwaiting_) {
    if (late_.size() < kMostLate) late_ += text;
    write_late();
    return;
  }
  // If standard error cannot be written, there is nobody to report to.
  while (!text.empty()) {
    const auto written = ::write(settings_.fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Writes as much as the reader takes without waiting.
void Console::write_late() {
  const int fd = unwaiting_.empty() ? settings_.fd : unwaiting_.get();
  while (!late_.empty()) {
    pollfd reader{fd, POLLOUT, 0};
    if (::poll(&reader, 1, 0) <= 0) return;
    // poll() promises room for PIPE_BUF bytes, and a longer write might block.
    const std::size_t most = unwaiting_.empty() ? PIPE_BUF : late_.size();
    const auto written = ::write(fd, late_.data(), std::min(most, late_.size()));
    if (written <= 0) return;
    late_.erase(0, static_cast<std::size_t>(written));
  }
}

// Only a pipe or terminal is opened again: a file opened again would have its own position.
Console::Unwaiting::Unwaiting(Console& console, std::chrono::milliseconds longest)
    : console_(console), longest_(longest) {
  const int fd = console_.settings_.fd;
  struct stat status {};
  const bool has_none =
      ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
  const std::lock_guard lock(console_.mutex_);
  if (has_none) {
    console_.unwaiting_ = Fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  console_.is_unwaiting_ = true;
}

Console::Unwaiting::~Unwaiting() {
  const std::lock_guard lock(console_.mutex_);
  const auto until = std::chrono::steady_clock::now() + longest_;
  while (!console_.late_.empty() && std::chrono::steady_clock::now() < until) {
    pollfd reader{console_.settings_.fd, POLLOUT, 0};
    ::poll(&reader, 1, static_cast<int>(kProgressEvery.count()));
    console_.write_late();
  }
  console_.is_unwaiting_ = false;
  console_.unwaiting_.reset();
  const std::string late = std::exchange(console_.late_, {});
  if (longest_ == kEndless) console_.write(late);
}

// The control sequence that moves to the beginning of the progress line.
std::string Console::back_to_progress() const {
  return line_ends_ == 0 ? "\r" : fmt::format("\r\x1b[{}A", line_ends_);
}

void Console::clear_progress() {
  if (shows_progress_) write(back_to_progress() + (line_ends_ == 0 ? "\x1b[K" : "\x1b[J"));
  shows_progress_ = false;
  line_ends_ = 0;
}

void Console::line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_progress();
  write(fmt::format("{}\n", settings_.is_ascii ? ascii_text(text) : text));
}

void Console::error(std::string_view message) {
  const char* const begin = settings_.with_colour ? "\x1b[31m" : "";
  const char* const end = settings_.with_colour ? "\x1b[0m" : "";
  line(fmt::format("{}heapattach:{} {}", begin, end, terminal_text(message)));
}

void Console::say(std::string_view message) {
  if (!settings_.quiet) line(terminal_text(message));
}

void Console::step(std::string_view message) {
  if (!settings_.verbose) return;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  line(fmt::format("[{:7.3f} s] {}", since.count(), terminal_text(message)));
}

void Console::progress(std::string_view what, std::uint64_t done, std::uint64_t all) {
  if (!settings_.is_terminal || settings_.quiet) return;
  const std::lock_guard lock(progress_mutex_);
  if (progress_.what != what) {
    progress_ = {std::string(what), 0, 0, std::chrono::steady_clock::now()};
  }
  progress_.done = done;
  progress_.all = all;
  if (!drawing_.joinable()) drawing_ = thread_without_signals([this] { draw(); });
}

void Console::end_progress() {
  {
    const std::lock_guard lock(progress_mutex_);
    progress_ = {};
  }
  const std::lock_guard lock(mutex_);
  clear_progress();
}

void Console::draw_progress(std::string_view text) {
  const bool is_early = std::chrono::steady_clock::now() - start_ < settings_.patience;
  if (!settings_.is_terminal || settings_.quiet || is_early) return;
  pollfd terminal{settings_.fd, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) <= 0) return;
  const std::lock_guard lock(mutex_);
  write_late();
  if (!late_.empty()) return;
  std::string drawn = back_to_progress();
  for (const char letter : settings_.is_ascii ? ascii_text(text) : std::string(text)) {
    if (letter == '\n') drawn += "\x1b[K";
    drawn += letter;
  }
  write(drawn + (line_ends_ == 0 ? "\x1b[K" : "\x1b[K\x1b[J"));
  shows_progress_ = true;
  line_ends_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string Console::progress_line(const Progress& progress, Time now) {
  const double seconds = std::chrono::duration<double>(now - progress.since).count();
  if (progress.all == 0 || progress.done == 0) {
    return fmt::format("{}, {:.0f} s", progress.what, seconds);
  }
  const TextStyle style{.with_separators = true};
  const double share =
      std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.all));
  return fmt::format("{}: {} of {}, {:.0f} %, {:.0f} s left", progress.what,
                     count_cell(progress.done, style), count_cell(progress.all, style), 100 * share,
                     seconds * (1 - share) / share);
}

void Console::redraw(std::string_view text) {
  const std::lock_guard lock(mutex_);
  {
    const std::lock_guard progress_lock(progress_mutex_);
    if (progress_.what.empty()) return;  // end_progress() was called
  }
  shows_progress_ = true;
  write(fmt::format("\r{}\x1b[K", settings_.is_ascii ? ascii_text(text) : text));
}

void Console::draw() {
  std::unique_lock waiting(progress_mutex_);
  while (!over_.wait_for(waiting, kProgressEvery, [this] { return is_over_; })) {
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ < settings_.patience || progress_.what.empty()) continue;
    const std::string text = progress_line(progress_, now);
    waiting.unlock();
    redraw(text);
    waiting.lock();
  }
}

}  // namespace heapattach
