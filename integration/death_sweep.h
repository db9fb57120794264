#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "integration/live_target.h"

namespace heapattach {

// That a "borrowed" target goes on in all its threads, as it was; `when` is said if it does not.
void check_unharmed(LiveTarget& target, const std::string& when);

// A whole clone after a death: it must not mind what the dead tool has left, and clears it away.
void check_next_clone(LiveTarget& target, const std::string& when);

// "borrowed" targets for one death of the tool after the other. One that has seen enough of them
// waits, stopped, until the clones of the dead have ended by themselves.
class DeathSweep {
 public:
  LiveTarget& fresh();
  void check_death(const std::string& when);
  // The next tool takes notice of the dead clones for the target.
  void finish();

 private:
  std::vector<std::unique_ptr<LiveTarget>> targets_;
  std::string signals_;  // of the last
  int deaths_ = 0;       // that the last has seen
};

}  // namespace heapattach
