#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "report/model/heaps.h"

namespace heapattach::snapshot {

// A process that reports can read, as it looks from outside. It was not stopped.
struct ReadableProcess {
  pid_t pid = 0;
  std::string name;  // the process has chosen it: any bytes, at most 15
  // The command line if the process has overwritten it with one text, such as "puma: cluster worker
  // 0: 4711 [shop]", of any bytes; otherwise empty.
  std::string title;
  std::string runtime;                   // "crystal", "ruby", "CPython"; empty: no known one
  std::vector<const heap::Kind*> heaps;  // the heaps that reports can read, if `is_known`
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
