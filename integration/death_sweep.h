#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "integration/live_target.h"

namespace heapattach {

// That a "borrowed" target goes on in all its threads, as it was; `when` is said if it does not.
void check_unharmed(LiveTarget& target, const std::string& when);

// A whole clone after a death: it must not mind what the dead tool has left.
void check_next_clone(LiveTarget& target, const std::string& when);

// Targets for one death of the tool after the other. One that has seen enough of them waits,
// stopped, until the clones of the dead have ended by themselves.
class DeathSweep {
 public:
  explicit DeathSweep(std::string program = "borrowed") : program_(std::move(program)) {}

  LiveTarget& fresh();
  void check_death(const std::string& when);
  // The next clone clears away what the dead tool has left in the code.
  void check_next_clone(const std::string& when);
  // The next tool takes notice of the dead clones for the target.
  void finish();

 private:
  std::string program_;
  std::vector<std::unique_ptr<LiveTarget>> targets_;
  std::string signals_;     // of the last
  std::uint64_t code_ = 0;  // … a sum of its code
  int deaths_ = 0;          // that the last has seen
};

}  // namespace heapattach
