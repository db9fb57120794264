// The freeze as a separate process, for the tests that kill it, run it as another user, or need it
// to know only a pid: "freeze_tool PID [ROUNDS [HOLD_MS]]" freezes PID that many times (0: for
// ever), and holds it each time. It prints "began" before the first freeze, then for each freeze
// "frozen" or the error, and how long it took. It exits with 1 if there was an error.
//
// "freeze_tool PID read ADDRESS beside|on MS" reads at ADDRESS while it holds the target, on a
// thread beside the tracing thread, or on the tracing thread, which should never do anything that
// may have to wait. Its guardian ends it after MS; then it prints why, and "late".

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <sys/uio.h>

#include "attach/base/guardian.h"
#include "attach/base/interrupt.h"
#include "integration/freezing.h"

namespace heapattach {

namespace {

int read_blindly(pid_t pid, std::uint64_t address, bool is_beside) {
  FreezeOptions options;
  options.budget = std::chrono::milliseconds(100);
  options.reads_only = is_beside;
  const auto report = freeze_once(pid, options, [&](const FrozenView&) -> Result<void> {
    std::array<char, 8> bytes{};
    const iovec local{bytes.data(), bytes.size()};
    const iovec remote{reinterpret_cast<void*>(address), bytes.size()};  // NOLINT(*-no-int-to-ptr)
    const auto got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return got < 0 ? Result<void>(os_error("process_vm_readv", errno)) : Result<void>();
  });
  std::printf("%s\n", report ? "read" : text_of(report.error()).c_str());
  std::fflush(stdout);
  return report ? 0 : 1;
}

int read_guarded(char** words) {
  const auto pid = static_cast<pid_t>(std::strtol(words[1], nullptr, 10));
  const std::uint64_t address = std::strtoull(words[3], nullptr, 10);
  const bool is_beside = std::string_view(words[4]) == "beside";
  const std::chrono::milliseconds time(std::strtol(words[5], nullptr, 10));
  const GuardedEnd end = run_guarded(std::chrono::steady_clock::now() + time,
                                     [&] { return read_blindly(pid, address, is_beside); });
  if (end.status) return *end.status;
  std::printf("%s\nlate\n", end.why.c_str());
  return 6;
}

}  // namespace

}  // namespace heapattach

int main(int count, char** words) {
  using namespace heapattach;
  if (count < 2) return 2;
  if (count == 6) return read_guarded(words);
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
