#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "report/model/heaps.h"

namespace heapattach::snapshot {

// A process that reports can read, as it looks from outside: nothing was stopped.
struct ReadableProcess {
  pid_t pid = 0;
  std::string name;  // chosen by the process: any bytes, at most 15
  // Its command line, if that is one text that the process wrote over it, as "puma: cluster worker
  // 0: 4711 [shop]"; any bytes. Empty otherwise.
  std::string title;
  std::string runtime;                   // "crystal", "ruby", "CPython"; empty: none that is known
  std::vector<const heap::Kind*> heaps;  // that reports can read; empty: none, or `is_known` is not
  bool is_known = false;                 // whether there was time to look for runtime and heaps
  std::uint64_t resident_bytes = 0;
  std::string started;  // RFC 3339, UTC
};

struct ProcessList {
  std::vector<ReadableProcess> processes;  // the most resident bytes first
  std::size_t left_out = 0;                // by --top
  std::size_t not_permitted = 0;           // processes that we may not read
};

}  // namespace heapattach::snapshot
