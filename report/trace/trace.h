#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/attribute.h"
#include "report/trace/event_log.h"

// A recording of which code allocated what. This model connects the recorder (take_trace.h), the
// saved file (format/read/trace_lines.h) and all reports (sites.h). It has plain values, and
// indices instead of pointers.
//
// Unless `every` is 1, it contains only a sample: an allocation of `bytes` bytes is included with
// the probability 1 - exp(-bytes / every). sites.h computes estimates for all allocations.
namespace heapattach::trace {

enum class Whose : std::uint8_t {
  Own,        // the program
  Library,    // any other library
  Runtime,    // the language: Crystal's standard library, libc, libstdc++
  Collector,  // libgc
};

// A function on a stack. An inlined function is a separate frame, with the instruction of the
// enclosing function. Unknown parts are empty or 0.
struct Frame {
  std::string function{};
  std::string object{};  // the file of its code: "libfoo.so"
  std::string file{};    // of its source
  std::uint32_t line = 0;
  std::uint64_t address = 0;  // an address in the calling instruction
  Whose whose = Whose::Own;
  bool is_lossy = false;  // a text in its record was changed before it was read
};

// Does not include the frames of the recording code.
struct Stack {
  std::vector<std::uint32_t> frames;  // of Trace::frames, innermost first
  bool is_truncated = false;          // there are outer frames that were not recorded
};

struct Type {
  std::string name;
  bool is_lossy = false;
};

struct Thread {
  pid_t tid = 0;
  std::string name;
  bool is_lossy = false;
};

struct Fiber {
  std::uint64_t address = 0;
  std::string name;
  bool is_lossy = false;
};

struct Header {
  std::string tool;
  pid_t pid = 0;
  std::string host;
  std::string exe;
  std::string build_id;
  Attributes resource;      // as in the header of a snapshot
  std::uint64_t every = 1;  // bytes allocated between two samples, on average; 1: all are recorded
  std::string started;      // RFC 3339, UTC, milliseconds: when the trace began
  std::uint64_t duration_ns = 0;
  // The collector's own count of bytes allocated since the program started.
  std::optional<std::uint64_t> gc_bytes_at_start;
  std::optional<std::uint64_t> gc_bytes_at_end;
  std::vector<std::string> heaps;    // that were traced: "gc", "malloc"; empty: "gc"
  std::vector<std::string> entries;  // the functions that were hooked
  std::vector<std::string> warnings;
  std::uint64_t drops = 0;             // samples that were lost
  bool complete = true;                // false: ended early, or part of the file is missing
  std::string reason;                  // why not
  std::chrono::nanoseconds stopped{};  // how long the process was stopped in all; not saved
  // Says what could not be removed from the process, why, and which command removes it; empty if
  // nothing was left. Not saved. If `started` is empty too, the trace could not even begin.
  std::string left_in;
  bool is_lossy = false;
};

// Whether a trace followed malloc.
[[nodiscard]] inline bool is_of_malloc(const Header& header) {
  return std::ranges::find(header.heaps, "malloc") != header.heaps.end();
}

struct Trace {
  Header header;
  std::vector<Type> types;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<Thread> threads;
  std::vector<Fiber> fibers;
  EventLog events;  // roughly in chronological order

  // Whether nothing is missing from the trace.
  [[nodiscard]] bool is_whole() const { return header.complete && header.drops == 0; }
};

}  // namespace heapattach::trace
