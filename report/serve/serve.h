#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "report/exit_status.h"
#include "report/serve/capture.h"
#include "report/serve/listening.h"

// `heapattach serve`: reports over HTTP, for Prometheus, profilers and people.
//
//   client ──HTTP──► front ──numbers──► keeper ──fork──► a run of heapattach ──ptrace──► process
//                      ◄──a descriptor──   ◄──a file──────┘
//
// The keeper has the rights and does little: it lists processes, starts runs, keeps the budget of
// pauses (schedule.h), and reads nothing that a client has written. The front (front.h) reads HTTP
// and has no rights at all. Each run is a process of its own with a guardian and a deadline, as on
// the command line. If the front crashes, the keeper starts another.
namespace heapattach::serve {

struct ServeOptions {
  std::string listen{kUsualAddress};
  std::string token_file{};                           // empty: no token
  std::chrono::milliseconds pause_budget{1000};       // per minute and process
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of one report
  bool allows_recording = false;                      // by code in the processes
  std::function<std::vector<ServedProcess>()> processes{};
  // Runs a report in this process, which has been forked for it, and returns the exit status. It
  // calls `paused` once it knows how long the process was stopped.
  std::function<ExitStatus(const Capture& capture,
                           const std::function<void(std::chrono::nanoseconds)>& paused)>
      run{};
  std::function<void(std::string_view)> say{};
};

// Serves until SIGINT or SIGTERM. Call it while this process has one thread.
Result<void> serve(const ServeOptions& options);

}  // namespace heapattach::serve
