#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

// The questions that `heapattach serve` answers, and how the answers are shown over HTTP.
namespace heapattach::serve {

enum class What : std::uint8_t {
  Processes,  // the list of the served processes; the keeper makes it itself
  Counts,
  Stacks,
  StacksJson,
  Diagnosis,
  DiagnosisJson,
  Snapshot,
  Profile,
  Allocations,
};

// Whether the answer is recorded by code in the process, which the operator must allow with
// --allow-trace.
[[nodiscard]] constexpr bool is_recording(What what) {
  return what == What::Allocations;
}

// The length of a recording without ?seconds=, and the longest one.
inline constexpr std::chrono::seconds kUsualRecording{10};
inline constexpr std::chrono::seconds kLongestRecording{60};

// A page that shows one capture of one process.
struct Page {
  What what;
  std::string_view path;
  bool as_json = false;  // with ?format=json
  std::string_view type;
  std::string_view file_ending{};  // of the file to save; empty: a browser shows the page
  std::string_view about{};        // the text of the link to it
};

inline constexpr std::array kPages{
    Page{What::Diagnosis, "/diagnose", false, "text/plain; charset=utf-8", {}, "diagnosis"},
    Page{What::DiagnosisJson, "/diagnose", true, "application/json"},
    Page{What::Stacks, "/stacks", false, "text/plain; charset=utf-8", {}, "stacks"},
    Page{What::StacksJson, "/stacks", true, "application/json"},
    Page{What::Snapshot, "/snapshot", false, "application/gzip", "jsonl.gz", "snapshot"},
    Page{What::Profile, "/debug/pprof/heap", false, "application/octet-stream", "pb.gz", "profile"},
    Page{What::Allocations, "/debug/pprof/allocs", false, "application/octet-stream", "pb.gz",
         "allocations"},
};

// One report on one process.
struct Capture {
  What what = What::Processes;
  pid_t pid = 0;
  std::uint64_t started = 0;  // in ticks since boot: with the pid, it identifies the process
  std::chrono::milliseconds longest_pause{};  // the report fails if it needs a longer one
  std::chrono::seconds length{};              // of a recording

  // Whether both captures are the same report on the same process. Recordings may differ in length.
  [[nodiscard]] bool is_like(const Capture& other) const {
    return what == other.what && pid == other.pid && started == other.started;
  }
};

// A process that is served.
struct ServedProcess {
  pid_t pid = 0;
  std::uint64_t started = 0;  // in ticks since boot
  std::uint64_t resident_bytes = 0;
  std::string name;  // chosen by the process: any bytes
};

}  // namespace heapattach::serve
