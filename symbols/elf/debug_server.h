#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"

namespace heapattach {

// Provides debug files that are not on this machine, by build id. Nobody has checked them.
class DebugServer {
 public:
  struct Wanted {
    std::string build_id;  // lower-case hex
    std::string name;      // of the module, for messages
  };
  struct Found {
    Fd file;           // empty: there is none
    std::string path;  // of the copy on this machine
  };

  virtual ~DebugServer() = default;
  // The files, parallel to `wanted`, which begins with the most important. Never takes all the time
  // until the deadline, and tells the user itself what went wrong.
  virtual std::vector<Found> find(std::span<const Wanted> wanted, const Deadline& deadline) = 0;
  // Tells the user why a file that was found is not used.
  virtual void reject(const Wanted& wanted, const std::string& why) = 0;
};

}  // namespace heapattach
