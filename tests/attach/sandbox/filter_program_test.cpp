#include "attach/sandbox/filter_program.h"

#include <array>
#include <cstring>
#include <optional>

#include <doctest/doctest.h>
#include <linux/seccomp.h>

#include "attach/arch/system_calls.h"

namespace heapattach {

namespace {

constexpr std::uint32_t kForeign = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kTrace = SECCOMP_RET_TRACE | 7;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | 1;

// Runs a filter as the kernel would; none if it runs past its end.
std::optional<std::uint32_t> run(const FilterProgram& filter, const seccomp_data& call) {
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < filter.code().size(); ++at) {
    const sock_filter& one = filter.code()[at];
    const auto jump = [&](bool passed) { at += passed ? one.jt : one.jf; };
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        REQUIRE(one.k + sizeof value <= sizeof call);
        std::memcpy(&value, std::as_bytes(std::span(&call, 1)).data() + one.k, sizeof value);
        break;
      case BPF_ALU | BPF_AND | BPF_K: value &= one.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: jump(value == one.k); break;
      case BPF_JMP | BPF_JGE | BPF_K: jump(value >= one.k); break;
      case BPF_JMP | BPF_JSET | BPF_K: jump((value & one.k) != 0); break;
      case BPF_RET | BPF_K: return one.k;
      default: FAIL("an unknown instruction"); return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> verdict(const FilterProgram& filter,
                                     int number,
                                     std::array<std::uint64_t, 2> arguments = {}) {
  seccomp_data call{.nr = number, .arch = kAuditArchitecture, .instruction_pointer = 0, .args = {}};
  std::copy(arguments.begin(), arguments.end(), call.args);
  return run(filter, call);
}

}  // namespace

TEST_CASE("the first rule of a filter that applies decides about a call") {
  FilterProgram filter(kForeign);
  filter.judge(SYS_read, kAllow);
  filter.judge(SYS_read, kTrace);
  filter.judge(SYS_write, kTrace);
  filter.otherwise(kRefuse);
  CHECK(verdict(filter, SYS_read) == kAllow);
  CHECK(verdict(filter, SYS_write) == kTrace);
  CHECK(verdict(filter, SYS_close) == kRefuse);
}

TEST_CASE("a filter judges a call by the lower half of its arguments") {
  using Arguments = FilterProgram::Arguments;
  FilterProgram filter(kForeign);
  filter.judge(SYS_ioctl, Arguments().of(1).if_equal(5, kAllow).if_equal(6, kTrace));
  filter.judge(SYS_ioctl, Arguments().of(0, 0xf0).if_equal(0x30, kTrace));
  filter.judge(SYS_mmap, Arguments().of(0).if_any_bit(4, kTrace).otherwise(kAllow));
  filter.judge(SYS_mprotect, Arguments().of(0).if_no_bit(4, kAllow));
  filter.otherwise(kRefuse);
  CHECK(verdict(filter, SYS_ioctl, {0, 5}) == kAllow);
  CHECK(verdict(filter, SYS_ioctl, {0, 0x1'0000'0005}) == kAllow);
  CHECK(verdict(filter, SYS_ioctl, {0, 6}) == kTrace);
  CHECK(verdict(filter, SYS_ioctl, {0x3f, 7}) == kTrace);
  CHECK(verdict(filter, SYS_ioctl, {0x4f, 7}) == kRefuse);
  CHECK(verdict(filter, SYS_mmap, {6, 0}) == kTrace);
  CHECK(verdict(filter, SYS_mmap, {2, 0}) == kAllow);
  CHECK(verdict(filter, SYS_mprotect, {6, 0}) == kRefuse);
  CHECK(verdict(filter, SYS_mprotect, {2, 0}) == kAllow);
}

TEST_CASE("a call through another interface of the processor gets the verdict for those") {
  FilterProgram filter(kForeign);
  filter.otherwise(kAllow);
  CHECK(verdict(filter, SYS_read) == kAllow);
  CHECK(verdict(filter, static_cast<int>(kForeignCalls) | SYS_read) == kForeign);
  const seccomp_data other{
      .nr = SYS_read, .arch = AUDIT_ARCH_I386, .instruction_pointer = 0, .args = {}};
  CHECK(run(filter, other) == kForeign);
}

}  // namespace heapattach
