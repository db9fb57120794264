#include "attach/base/back_off.h"

#include <algorithm>
#include <ctime>

#include <sched.h>

namespace heapattach {

void back_off(int round, const BackOff& plan) {
  constexpr long kShortestNanoseconds = 20'000;
  if (round < plan.yields) {
    sched_yield();
    return;
  }
  const timespec moment{
      0, std::min(kShortestNanoseconds * (round - plan.yields + 1), plan.longest_nanoseconds)};
  nanosleep(&moment, nullptr);
}

}  // namespace heapattach
