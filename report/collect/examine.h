#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/attribute.h"
#include "report/collect/take_options.h"
#include "report/model/heaps.h"

namespace heapattach::snapshot {

// The reason why one way of taking a snapshot is not possible.
struct Obstacle {
  std::string way;  // "any", "freeze" or "clone"
  std::string reason;
};

// Facts about the target's heap, from its own counters, and how they are read.
struct HeapFacts {
  const heap::Kind* kind = &heap_kind();  // never null
  std::vector<const heap::Kind*> beside;  // the other heaps that --heap both would read, too
  bool is_resident = false;  // the heap is only found in a copy; heap_bytes is the resident memory
  std::string module;
  std::string version;  // empty: unknown
  std::string layout;   // how the layout was learned, as in the header of a snapshot
  std::uint64_t heap_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  // nothing: only a copy of the heap shows it
  std::optional<std::uint64_t> collections;
  bool is_collecting = false;
  std::string runtime;
  std::size_t classes =
      0;  // classes whose objects contain their type: Crystal classes, and C++ classes with vtables
  std::size_t types = 0;               // types with layouts
  std::size_t globals = 0;             // named globals in memory that the collector scans
  std::chrono::milliseconds freeze{};  // the approximate pause for a freeze, if nothing else runs
  std::chrono::milliseconds clone{};   // the same for a clone
};

// The interpreter of a Ruby process, and how its heap would be read. examine() does not fill it in.
struct RubyFacts {
  std::string version;      // "3.1.2"
  std::string description;  // as Ruby prints it
  std::string module;
  std::optional<std::uint64_t> heap_bytes;  // the size of its pages; nothing if unknown
  std::string no_outside;              // why its memory cannot be read from outside; empty: it can
  std::chrono::milliseconds freeze{};  // the approximate pause, as in HeapFacts
  std::chrono::milliseconds clone{};
};

// Facts about a possible --trace of the process. examine() does not fill it in.
struct TraceProspect {
  std::vector<std::string> entries;  // functions of the collector that can be hooked
  bool follows_ends = false;         // the trace can tell which objects stay in use
  std::vector<std::string> notes;    // what would be missing, and why
  std::string refusal;               // why the process cannot be traced; empty if it can
  // The present rate of allocation, and the share of one processor that tracing it would take.
  std::optional<double> bytes_per_second = {};
  double cost = 0;
};

// What can be learned about a process before anything is done to it.
struct Examination {
  pid_t pid = 0;
  std::string exe;
  Attributes resource;      // as in the header of a snapshot
  std::string no_resource;  // why it could not be read; empty if it could, or if there is none
  uid_t user = 0;
  std::size_t threads = 0;
  std::vector<std::pair<char, std::size_t>> states;  // state letter and the number of threads in it
  std::size_t filtered = 0;                          // threads with a seccomp filter
  std::size_t modules = 0;
  std::size_t modules_with_symbols = 0;
  std::optional<HeapFacts> heap;
  std::optional<RubyFacts> ruby;
  std::optional<TraceProspect> trace;
  std::vector<Obstacle> obstacles;
  std::optional<ErrorKind>
      refusal;      // how a snapshot in the chosen way would fail; nothing: it works
  std::string gap;  // why a snapshot would be partial; empty if no reason is known
};

class Opened;

// Adds the attributes that the process publishes about itself.
void add_resource(const Opened& opened, Examination& found);

// The kind of error with which a snapshot taken in this way would fail; nothing if it would
// succeed.
[[nodiscard]] std::optional<ErrorKind> refusal_of(Hold way, const Examination& found);

// A dry run: inspects the process as a snapshot would beforehand, but writes and stops nothing.
// It fails only if there is no such process, or if time runs out.
Result<Examination> examine(const TakeOptions& options);

}  // namespace heapattach::snapshot
