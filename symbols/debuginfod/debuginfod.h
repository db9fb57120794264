#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbols/elf/debug_server.h"

// Asks the servers in DEBUGINFOD_URLS with elfutils' library, as gdb and perf do. The library keeps
// downloads in a cache that all these programs share, and remembers for some minutes which files a
// server does not have.
namespace heapattach {

// Called to show the user the state of the downloads. Each function may be empty.
struct DebuginfodEvents {
  struct Progress {
    std::size_t asked = 0;    // modules whose transfer has ended
    std::size_t all = 0;      // modules
    std::string_view name{};  // of the module that is being downloaded; empty: none
    std::uint64_t done = 0;   // bytes of its file
    std::uint64_t bytes = 0;  // 0: unknown
  };
  std::function<void(std::string_view)> on_step;
  std::function<void(std::string_view)> on_warning;
  std::function<void(const Progress&)> on_progress;
  std::function<void()> on_end;  // of the progress
};

class Debuginfod : public DebugServer {
 public:
  // Null if DEBUGINFOD_URLS is not set, or if this build cannot load libraries; on_step then gets a
  // message about that.
  static std::shared_ptr<Debuginfod> of_environment(DebuginfodEvents events);
  explicit Debuginfod(DebuginfodEvents events) : events_(std::move(events)) {}

  // Takes half of the time until the deadline at most. Gives up on all modules if a server sends
  // nothing for a while, and does not ask again in this process.
  std::vector<Found> find(std::span<const Wanted> wanted, const Deadline& deadline) override;
  void reject(const Wanted& wanted, const std::string& why) override;

 private:
  class Run;

  std::vector<Found> collect(const Run& run,
                             const std::vector<Wanted>& asked,
                             const Deadline& deadline);
  void warn(const std::string& text) const;
  void step(const std::string& text) const;

  DebuginfodEvents events_;
  bool has_given_up_ = false;
  std::set<std::string> missing_;  // build ids
};

// How long a server may send nothing: DEBUGINFOD_TIMEOUT, in seconds, or the usual.
[[nodiscard]] std::chrono::milliseconds debuginfod_patience(const char* timeout);

}  // namespace heapattach
