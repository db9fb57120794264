#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/result.h"

namespace heapattach::debuginfod {

// The files that the worker downloads, and the directory to put them in.
struct Download {
  std::vector<std::string> build_ids;  // the first one is downloaded before all others
  std::string cache;
  std::uint64_t most_file_bytes = 0;
};

// Forks a worker that loads libdebuginfod, downloads the files, writes lines to `output`
// (transfers.h), and exits. It cancels its transfers on SIGTERM. The library talks to servers,
// starts threads and reads settings, so it is never loaded into this process.
Result<pid_t> fork_downloader(const Download& download, int output);

}  // namespace heapattach::debuginfod
