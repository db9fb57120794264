#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/collect/take.h"

namespace heapattach::snapshot {

// What keeps one way of taking a snapshot from being taken.
struct Obstacle {
  std::string way;  // "any", "freeze" or "clone"
  std::string reason;
};

// What is in the target's heap by its collector's account, and how the collector is read.
struct HeapFacts {
  std::string module;
  std::string version;  // empty: it does not tell
  std::string layout;   // how it was learned, as in the header of a snapshot
  std::uint64_t heap_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::optional<std::uint64_t> collections;
  bool is_collecting = false;
  std::string runtime;
  std::size_t classes = 0;  // whose objects say what they are: of Crystal, and C++ with vtables
  std::size_t types = 0;    // with layouts
  std::size_t globals = 0;  // with names, in memory that the collector looks through
  std::chrono::milliseconds
      freeze{};  // about how long each way would hold it, if nothing else runs
  std::chrono::milliseconds clone{};
};

// What there is to know about a process before anything is done to it.
struct Examination {
  pid_t pid = 0;
  std::string exe;
  uid_t user = 0;
  std::size_t threads = 0;
  std::vector<std::pair<char, std::size_t>> states;  // state letter and how many are in it
  std::size_t filtered = 0;                          // threads under a seccomp filter
  std::size_t modules = 0;
  std::size_t modules_with_symbols = 0;
  std::optional<HeapFacts> heap;
  std::vector<Obstacle> obstacles;
  std::optional<ErrorKind> refusal;  // why no way at all is open; none: one is
};

// The dry run: looks at the process as a snapshot would before it begins, and writes and stops
// nothing. An error only if there is no such process, or no time.
Result<Examination> examine(const TakeOptions& options);

}  // namespace heapattach::snapshot
