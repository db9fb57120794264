#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "report/analyze/difference.h"
#include "report/collect/memory_account.h"
#include "report/diagnose/process_facts.h"
#include "report/stacks/stack_report.h"

// Everything that a diagnosis looks at, as plain values of one moment. What is missing was not
// examined; `not_examined` says why.
namespace heapattach::diagnose {

// Leaks whose roots have one type.
struct LeakSeen {
  std::string type;     // "(48 bytes)" if only the size is known
  std::string guess{};  // … and what the objects probably are; may be empty
  bool is_cycle = false;
  std::uint64_t leaks = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t example = 0;  // an address
};

struct LeaksSeen {
  std::vector<LeakSeen> rows;  // the most bytes first
  std::uint64_t leaks = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

// The object or root that keeps the largest part of the live objects.
struct HolderSeen {
  std::string sentence;  // "one Cache keeps 4676224 bytes, …"
  std::string path;      // "global CACHE → @h"
  std::uint64_t retained_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::vector<std::string> contents;  // "20282 objects, 1.2 MiB: Session"
};

// Strings with the same text.
struct RepeatedSeen {
  std::string type;
  std::uint64_t copies = 0;
  std::uint64_t text_bytes = 0;        // of one
  std::uint64_t wasted_bytes = 0;      // by all copies but one
  std::uint64_t all_wasted_bytes = 0;  // by the copies of any text
  std::uint64_t live_bytes = 0;
};

// The new objects of one type, with the holder of most of them.
struct GrownType {
  std::string type;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // with what only they retain
  std::string path;         // empty: unknown
};

// The difference to an earlier snapshot of the process.
struct GrowthSeen {
  std::string baseline;  // its file
  std::string captured;
  analyze::Amount before;  // reachable objects
  analyze::Amount after;
  std::vector<GrownType> types;
  std::vector<std::string> remarks;  // what could mislead
};

// Resident memory of one mapped file, or of all that are in one folder.
struct MappedFile {
  std::string path;
  std::uint64_t resident_bytes = 0;
  std::uint64_t files = 0;  // in the folder
};

struct Evidence {
  pid_t pid = 0;
  std::string source;  // for the next command: the pid or the file; empty: it cannot be read again
  bool is_live = false;
  std::string exe;
  Attributes resource;  // as in the header of a snapshot
  std::string captured;
  std::optional<double> pause_ms;

  // Findings and remarks include those that only a heap shows.
  std::optional<stacks::StackReport> stacks;
  std::vector<snapshot::HeapAccount> heaps;
  std::uint64_t objects = 0;       // reachable
  bool lacks_unreachable = false;  // objects, without which leaks cannot be judged
  std::optional<LeaksSeen> leaks;
  std::optional<HolderSeen> holder;
  std::optional<RepeatedSeen> repeated;
  std::optional<GrowthSeen> growth;
  std::optional<snapshot::MemoryAccount> memory;
  std::vector<MappedFile> files;     // the largest first
  std::vector<MappedFile> folders;   // likewise
  std::uint64_t shared_bytes = 0;    // of writable memory that is shared with other processes
  std::vector<MappedFile> shared;    // that memory, by its name: "/memfd:cache"
  std::uint64_t variable_bytes = 0;  // of variables that began as zeros (.bss), in whole pages
  std::optional<ProcessFacts> facts;

  std::vector<std::string> not_examined;  // "leaks: …"
  bool is_partial = false;                // … because something failed

  // Whether a heap could be read.
  [[nodiscard]] bool has_objects() const { return !heaps.empty() || objects > 0; }
};

}  // namespace heapattach::diagnose
