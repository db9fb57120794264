#include "inject/filter_verdicts.h"

#include <doctest/doctest.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "attach/sandbox/filter_program.h"

namespace heapattach {

namespace {

SeccompFilter refusing(long number, std::uint32_t verdict) {
  FilterProgram filter(SECCOMP_RET_ALLOW);
  filter.judge(number, verdict);
  filter.otherwise(SECCOMP_RET_ALLOW);
  return filter.code();
}

Filters judge(const std::vector<SeccompFilter>& filters) {
  FilterVerdicts verdicts;
  return verdicts.judge(filters);
}

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | 1;

}  // namespace

TEST_CASE("a thread's filters are as harmful as the worst of them") {
  const SeccompFilter harmless = refusing(SYS_mount, SECCOMP_RET_KILL_PROCESS);
  const SeccompFilter kills = refusing(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS);
  CHECK(judge({}) == Filters::Harmless);
  CHECK(judge({harmless}) == Filters::Harmless);
  CHECK(judge({kills, harmless}) == Filters::MayHarm);
  CHECK(judge({harmless, kills}) == Filters::MayHarm);
}

TEST_CASE("a call that takes the thread back must run, and others may fail") {
  CHECK(judge({refusing(SYS_memfd_create, kRefuse)}) == Filters::Harmless);
  CHECK(judge({refusing(SYS_restart_syscall, kRefuse)}) == Filters::MayHarm);
  CHECK(judge({refusing(SYS_munmap, kRefuse)}) == Filters::MayHarm);
}

TEST_CASE("filters that threads share are followed once") {
  FilterVerdicts verdicts;
  const SeccompFilter of_all = refusing(SYS_mount, kRefuse);
  const SeccompFilter of_some = refusing(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS);
  for (int thread = 0; thread < 1000; ++thread) {
    const bool is_odd = thread % 2 != 0;
    const auto filters =
        is_odd ? std::vector{of_all, of_some} : std::vector{of_all, of_all, of_all};
    CHECK(verdicts.judge(filters) == (is_odd ? Filters::MayHarm : Filters::Harmless));
  }
  CHECK(verdicts.followed() == 2);
  CHECK(verdicts.harmed_threads() == 500);
}

}  // namespace heapattach
