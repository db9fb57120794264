#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "attach/base/fd.h"
#include "report/cli/options.h"

namespace heapattach {

// Whether colour is wanted for a stream: on a terminal unless NO_COLOR is set (to anything but the
// empty string, no-color.org), or as --color says.
[[nodiscard]] bool wants_colour(ColourChoice choice, bool is_terminal, const char* no_color);

// Everything that the user sees on standard error. It all goes through terminal_text: messages
// contain names from the target. Safe to use from several threads.
class Console {
 public:
  struct Settings {
    int fd = 2;
    bool quiet = false;
    bool verbose = false;
    bool is_terminal = false;
    bool with_colour = false;
    bool is_ascii = false;                     // nothing else can be shown
    std::chrono::milliseconds patience{1000};  // before progress is shown
  };

  explicit Console(const Settings& settings);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // "heapattach: MESSAGE", whatever -q says.
  void error(std::string_view message);
  // A line that -q silences.
  void say(std::string_view message);
  // A step and its reason; shown with -v, with the seconds since the start.
  void step(std::string_view message);
  // The present work, and how much of it is done; `all` is 0 if unknown. Shown on a terminal after
  // a second, on one line that is overwritten and disappears: "typing objects: 1,234,567 of
  // 5,000,000, 24 %, 3 s left". Never waits for the terminal: another thread draws.
  void progress(std::string_view what, std::uint64_t done = 0, std::uint64_t all = 0);
  // Removes that line, before a report goes to the same terminal.
  void end_progress();
  // Draws progress in the caller's own words, of one line or several, at once and without a thread.
  // Leaves it out while the terminal takes nothing. Do not combine it with progress().
  void draw_progress(std::string_view text);

  // While this object lives, we never wait for the reader of standard error. Text that it does not
  // take at once is written when this object ends, and is lost if that takes longer than `longest`.
  // Used while something of ours is in the target, and for the last messages.
  class Unwaiting {
   public:
    static constexpr std::chrono::milliseconds kEndless{-1};
    explicit Unwaiting(Console& console, std::chrono::milliseconds longest = kEndless);
    ~Unwaiting();
    Unwaiting(const Unwaiting&) = delete;
    Unwaiting& operator=(const Unwaiting&) = delete;

   private:
    Console& console_;
    std::chrono::milliseconds longest_;
  };

 private:
  void line(std::string_view text);
  void write(std::string_view text);
  void write_late();
  [[nodiscard]] std::string back_to_progress() const;
  void clear_progress();
  void draw();
  void redraw(std::string_view text);

  using Time = std::chrono::steady_clock::time_point;
  struct Progress {
    std::string what;  // empty: nothing yet
    std::uint64_t done = 0;
    std::uint64_t all = 0;
    Time since{};
  };
  [[nodiscard]] static std::string progress_line(const Progress& progress, Time now);

  Settings settings_;
  bool is_unwaiting_ = false;
  Fd unwaiting_;      // the same pipe or terminal, without waiting; empty if it cannot be had
  std::string late_;  // what was not taken at once
  Time start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;             // of the output
  bool shows_progress_ = false;  // what must be cleared
  std::size_t line_ends_ = 0;    // in that
  std::mutex progress_mutex_;    // of the rest; held only briefly
  Progress progress_;
  bool is_over_ = false;
  std::condition_variable over_;
  std::thread drawing_;  // on a terminal, from the first progress on
};

}  // namespace heapattach
