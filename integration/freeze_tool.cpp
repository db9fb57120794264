// The freeze as a process of its own, for the tests that kill it, run it as another user, or count
// on it to know only a number: "freeze_tool PID [ROUNDS [HOLD_MS]]" freezes PID that often (0: for
// ever), and holds it each time. It prints "began" before the first freeze, then "frozen" or the
// error for each, how long it took, and ends with 1 if there was an error.

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "attach/interrupt.h"
#include "integration/freezing.h"

int main(int count, char** words) {
  using namespace heapattach;
  if (count < 2) return 2;
  const auto pid = static_cast<pid_t>(std::strtol(words[1], nullptr, 10));
  const long rounds = count > 2 ? std::strtol(words[2], nullptr, 10) : 1;
  const std::chrono::milliseconds hold(count > 3 ? std::strtol(words[3], nullptr, 10) : 0);
  install_interrupt_handlers();
  std::puts("began");
  std::fflush(stdout);
  for (long round = 0; rounds == 0 || round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto report = freeze_once(pid, {}, [&](const FrozenView&) -> Result<void> {
      const auto end = std::chrono::steady_clock::now() + hold;
      while (std::chrono::steady_clock::now() < end) {
        HA_TRY(check_interrupt());
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      return {};
    });
    const auto took = std::chrono::steady_clock::now() - start;
    if (!report) {
      std::printf("%s\n", text_of(report.error()).c_str());
      std::printf("took_us=%ld\n", static_cast<long>(took / std::chrono::microseconds(1)));
      return 1;
    }
    std::printf("frozen threads=%zu passes=%d took_us=%ld\n", report->threads.size(),
                report->passes, static_cast<long>(took / std::chrono::microseconds(1)));
    std::fflush(stdout);
  }
}
