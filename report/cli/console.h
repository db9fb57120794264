#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "report/cli/options.h"

namespace heapattach {

// Whether colour is wanted for a stream: on a terminal unless NO_COLOR is set (to anything but the
// empty string, no-color.org), or as --color says.
[[nodiscard]] bool wants_colour(ColourChoice choice, bool is_terminal, const char* no_color);

// What the user sees on standard error besides the report. Everything goes through terminal_text:
// messages hold names that come from the target. May be used from several threads.
class Console {
 public:
  struct Settings {
    int fd = 2;
    bool quiet = false;
    bool verbose = false;
    bool is_terminal = false;
    bool with_colour = false;
    bool is_ascii = false;  // nothing else can be shown
  };

  explicit Console(const Settings& settings);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // "heapattach: MESSAGE", whatever -q says.
  void error(std::string_view message);
  // A line that -q silences.
  void say(std::string_view message);
  // A step and why it is taken; shown with -v, with the seconds since the start.
  void step(std::string_view message);
  // "WHAT: 1234567 of 10000000" on a line that is written over; only on a terminal, only after a
  // second, at most ten times a second.
  void progress(std::string_view what, std::uint64_t done, std::uint64_t all);

 private:
  void line(std::string_view text);
  void write(std::string_view text) const;
  void clear_progress();

  Settings settings_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_progress_ = start_;
  bool shows_progress_ = false;
  std::mutex mutex_;
};

}  // namespace heapattach
