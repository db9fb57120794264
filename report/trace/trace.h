#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "report/trace/event_log.h"

// A recording of which code allocated what: the model between what records it (take_trace.h), the
// saved file (format/read/trace_lines.h) and every report of it (sites.h). Plain values; indices
// instead of pointers.
//
// Only some of the allocations are in it unless `every` is 1: one of `bytes` bytes is in it with
// the probability 1 - exp(-bytes / every). sites.h makes estimates of all of them.
namespace heapattach::trace {

enum class Whose : std::uint8_t {
  Own,        // the program
  Library,    // another one than the two below
  Runtime,    // the language: Crystal's standard library, libc, libstdc++
  Collector,  // libgc
};

// A function in a stack; an inlined one is a frame of its own, with the instruction of the
// enclosing one. Unknown parts are empty or 0.
struct Frame {
  std::string function{};
  std::string object{};  // the file of its code: "libfoo.so"
  std::string file{};    // of its source
  std::uint32_t line = 0;
  std::uint64_t address = 0;  // in the calling instruction
  Whose whose = Whose::Own;
  bool is_lossy = false;  // a text in its record was changed before it was read
};

// Without the frames of the code that records.
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
  std::uint64_t every = 1;  // bytes allocated between two samples, on average; 1: all are recorded
  std::string started;      // RFC 3339, UTC, milliseconds: when the trace began
  std::uint64_t duration_ns = 0;
  // What the collector itself says it has allocated since the program started.
  std::optional<std::uint64_t> gc_bytes_at_start;
  std::optional<std::uint64_t> gc_bytes_at_end;
  std::vector<std::string> entries;  // the functions of the collector that were hooked
  std::vector<std::string> warnings;
  std::uint64_t drops = 0;  // samples that were lost
  bool complete = true;     // false: ended early, or part of the file is missing
  std::string reason;       // why not
  bool is_lossy = false;
};

struct Trace {
  Header header;
  std::vector<Type> types;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<Thread> threads;
  std::vector<Fiber> fibers;
  EventLog events;  // about in the order of their times

  // Whether everything that should be in it is.
  [[nodiscard]] bool is_whole() const { return header.complete && header.drops == 0; }
};

}  // namespace heapattach::trace
