#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "integration/live_target.h"
#include "integration/other_releases.h"

// Programs in other languages: their objects are counted exactly, by the languages' own type names.
namespace heapattach {

using Counts = std::map<std::string, std::int64_t>;

struct Count {
  Counts objects;
  double named = 0;  // share of the bytes
};

// The count of a release that was not tried may be partial.
Count count_of(pid_t pid, const Release& release);

// A program that reads a number, makes that many objects of each kind in place of the earlier ones,
// and prints "made", again and again. At 0, it prints how many objects it has.
class Maker {
 public:
  Maker(const std::vector<std::string>& arguments, Release release)
      : release_(std::move(release)), child_(arguments) {}

  [[nodiscard]] const Release& release() const { return release_; }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }

  Count make(int number);
  bool ends_with(const std::string& result);

 private:
  bool read_until(const std::string& wanted);

  Release release_;
  ChildProcess child_;
};

// Makes objects of each type in several numbers, and checks that the counts differ by as many.
//
// Words left on a stack may keep objects of the previous round, also for the collector, and the
// language makes a few objects of its own, but not the same number in every round. Programs with
// lists take dropped lists apart, so that such a word keeps one object, not a whole list. No object
// may be missing in any round.
void check_differences(Maker& maker, int more, Counts each);

}  // namespace heapattach
