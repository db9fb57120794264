#include "report/cli/console.h"

#include <cerrno>

#include <fmt/format.h>
#include <unistd.h>

#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

constexpr auto kQuietTime = 1s;
constexpr auto kProgressEvery = 100ms;

}  // namespace

bool wants_colour(ColourChoice choice, bool is_terminal, const char* no_color) {
  if (choice != ColourChoice::Auto) return choice == ColourChoice::Always;
  return is_terminal && (no_color == nullptr || *no_color == '\0');
}

Console::Console(const Settings& settings) : settings_(settings) {}

Console::~Console() {
  clear_progress();
}

void Console::write(std::string_view text) const {
  // Nobody could be told if standard error cannot be written.
  while (!text.empty()) {
    const auto written = ::write(settings_.fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Console::clear_progress() {
  if (shows_progress_) write("\r\x1b[K");
  shows_progress_ = false;
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
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (now - start_ < kQuietTime || now - last_progress_ < kProgressEvery) return;
  last_progress_ = now;
  shows_progress_ = true;
  write(fmt::format("\r{}: {} of {}\x1b[K", what, done, all));
}

}  // namespace heapattach
