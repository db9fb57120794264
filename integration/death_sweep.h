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

// Checks that all threads of a "borrowed" target continue unchanged; `when` is part of the message.
void check_unharmed(LiveTarget& target, const std::string& when);

// Makes a whole clone after a death, to check that the dead tool's leftovers do not matter.
void check_next_clone(LiveTarget& target, const std::string& when);

// Provides targets for one death of the tool after another. A target that has seen enough deaths is
// stopped until the clones have ended by themselves.
class DeathSweep {
 public:
  explicit DeathSweep(std::string program = "borrowed") : program_(std::move(program)) {}

  LiveTarget& fresh();
  void check_death(const std::string& when);
  // Checks that the next clone clears the dead tool's leftovers out of the code.
  void check_next_clone(const std::string& when);
  // Checks that the next tool makes the target reap the dead clones.
  void finish();

 private:
  std::string program_;
  std::vector<std::unique_ptr<LiveTarget>> targets_;
  std::string signals_;     // of the last target
  std::uint64_t code_ = 0;  // a checksum of the last target's code
  int deaths_ = 0;          // how often the tool has died with the last target
};

}  // namespace heapattach
