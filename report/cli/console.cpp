#include "report/cli/console.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "report/format/write/table.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

constexpr auto kProgressEvery = 100ms;

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

void Console::write(std::string_view text) const {
  // If standard error cannot be written, there is nobody to report to.
  while (!text.empty()) {
    const auto written = ::write(settings_.fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Moves to where it begins.
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
  if (progress_.what != what)
    progress_ = {std::string(what), 0, 0, std::chrono::steady_clock::now()};
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
