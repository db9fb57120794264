#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "attach/base/deadline.h"
#include "attach/stop/freeze.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The options that all reports on a process or a core file share. Made once for a report, and
// passed by reference to everything that works on it.
struct Request {
  pid_t pid = 0;
  std::string file{};       // a core file instead of the process; empty: none
  std::string type_info{};  // a file; empty: none
  SymbolSearch symbols{};
  bool with_cache = true;  // of types (symbols/dwarf/type_cache.h)
  bool rewind = true;      // restart the system calls that a stop interrupts
  // How long the process may be stopped at most; none: as long as is usual for the report.
  std::optional<std::chrono::milliseconds> max_pause{};
  Deadline deadline{};  // of the whole report
  // Each of these may be empty.
  std::function<void(std::string_view)> on_step{};     // for -v: a step, with its reason
  std::function<void(std::string_view)> on_warning{};  // what the user should know at once
  std::function<void(std::string_view)> on_work{};     // which long-running work begins

  void note(std::string_view step) const {
    if (on_step) on_step(step);
  }
  void warn(std::string_view text) const {
    if (on_warning) on_warning(text);
  }
  void begin(std::string_view work) const {
    if (on_work) on_work(work);
  }
  [[nodiscard]] std::chrono::milliseconds longest_pause() const {
    return max_pause.value_or(kLongestFreeze);
  }
  [[nodiscard]] FreezeOptions freeze_options() const {
    FreezeOptions how;
    how.budget = longest_pause();
    how.deadline = deadline;
    how.rewind = rewind;
    return how;
  }
};

}  // namespace heapattach
