#pragma once

#include <chrono>
#include <thread>

#include "attach/base/deadline.h"
#include "attach/base/result.h"

namespace heapattach::snapshot {

// Reads lists that the process may be changing. If the result is Malformed, tries again a little
// later, but not for a core file, whose lists do not change.
template <class Read>
auto while_it_changes(bool is_live, const Deadline& deadline, const Read& read) {
  constexpr int kMostTries = 5;
  constexpr std::chrono::milliseconds kBetween{3};
  for (int tries = 1;; ++tries) {
    auto found = read();
    const bool may_change = is_live && !found && found.error().kind == ErrorKind::Malformed;
    if (!may_change || tries == kMostTries || !deadline.check("")) return found;
    std::this_thread::sleep_for(kBetween);
  }
}

}  // namespace heapattach::snapshot
