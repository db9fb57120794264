#include "attach/sandbox/filter_effect.h"

#include <vector>

#include <doctest/doctest.h>
#include <linux/seccomp.h>

#include "attach/arch/system_calls.h"
#include "attach/sandbox/filter_program.h"

namespace heapattach {

namespace {

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | 1;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;

FilterEffect verdict_is(std::uint32_t verdict) {
  const std::vector<sock_filter> filter{BPF_STMT(BPF_RET | BPF_K, verdict)};
  return effect_of(filter, SYS_mmap);
}

std::vector<sock_filter> loading(unsigned offset, std::vector<sock_filter> rest) {
  rest.insert(rest.begin(), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
  return rest;
}

}  // namespace

TEST_CASE("a filter lets a call run, lets it fail, or may do harm") {
  CHECK(verdict_is(kAllow) == FilterEffect::Runs);
  CHECK(verdict_is(SECCOMP_RET_LOG) == FilterEffect::Runs);
  CHECK(verdict_is(kRefuse) == FilterEffect::MayFail);
  CHECK(verdict_is(SECCOMP_RET_ERRNO | 511) == FilterEffect::MayFail);
  CHECK(verdict_is(SECCOMP_RET_ERRNO | 512) == FilterEffect::MayHarm);  // ERESTARTSYS
  CHECK(verdict_is(SECCOMP_RET_ERRNO) == FilterEffect::MayHarm);        // 0: it seems to succeed
  for (const std::uint32_t harm :
       {std::uint32_t{SECCOMP_RET_KILL_PROCESS}, std::uint32_t{SECCOMP_RET_KILL_THREAD},
        std::uint32_t{SECCOMP_RET_TRAP}, std::uint32_t{SECCOMP_RET_TRACE},
        std::uint32_t{SECCOMP_RET_USER_NOTIF}}) {
    CHECK(verdict_is(harm) == FilterEffect::MayHarm);
  }
}

TEST_CASE("a filter's rules about other calls, and about another architecture, do not count") {
  FilterProgram filter(kKill);  // for calls of another architecture
  filter.judge(SYS_read, kKill);
  filter.judge(SYS_clone, FilterProgram::Arguments().of(0).if_any_bit(0x7e020000, kRefuse));
  filter.judge(SYS_clone, kAllow);
  filter.judge(SYS_mmap, kAllow);
  filter.otherwise(kRefuse);
  CHECK(effect_of(filter.code(), SYS_read) == FilterEffect::MayHarm);
  CHECK(effect_of(filter.code(), SYS_mmap) == FilterEffect::Runs);
  CHECK(effect_of(filter.code(), SYS_close) == FilterEffect::MayFail);
  CHECK(effect_of(filter.code(), SYS_clone) == FilterEffect::MayFail);  // it depends on the flags
}

TEST_CASE("every path that a call's arguments could lead to counts") {
  FilterProgram filter(kAllow);
  filter.judge(SYS_mmap, FilterProgram::Arguments().of(2).if_any_bit(4, kKill));
  filter.otherwise(kAllow);
  CHECK(effect_of(filter.code(), SYS_mmap) == FilterEffect::MayHarm);
  CHECK(effect_of(filter.code(), SYS_munmap) == FilterEffect::Runs);
}

TEST_CASE("a verdict is followed through the registers and the memory of a filter") {
  constexpr unsigned kNumber = offsetof(seccomp_data, nr);
  constexpr unsigned kArgument = offsetof(seccomp_data, args);
  // This filter compares the number by way of its memory and its other register.
  const auto by_register =
      loading(kNumber, {BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LDX | BPF_W | BPF_MEM, 3),
                        BPF_STMT(BPF_LD | BPF_W | BPF_IMM, SYS_close),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, kKill), BPF_STMT(BPF_RET | BPF_K, kAllow)});
  CHECK(effect_of(by_register, SYS_close) == FilterEffect::MayHarm);
  CHECK(effect_of(by_register, SYS_mmap) == FilterEffect::Runs);
  // Verdicts that are calculated: one is known, the other depends on an argument.
  const auto known =
      loading(kNumber, {BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, SYS_close),
                        BPF_STMT(BPF_ALU | BPF_OR | BPF_K, kAllow), BPF_STMT(BPF_RET | BPF_A, 0)});
  CHECK(effect_of(known, SYS_close) == FilterEffect::Runs);
  const auto unknown = loading(kArgument, {BPF_STMT(BPF_RET | BPF_A, 0)});
  CHECK(effect_of(unknown, SYS_close) == FilterEffect::MayHarm);
  // A division by 0 kills, so a division by an argument may kill.
  const auto divided =
      loading(kArgument, {BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
                          BPF_STMT(BPF_RET | BPF_K, kAllow)});
  CHECK(effect_of(divided, SYS_close) == FilterEffect::MayHarm);
  const auto halved = loading(
      kArgument, {BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 2), BPF_STMT(BPF_RET | BPF_K, kAllow)});
  CHECK(effect_of(halved, SYS_close) == FilterEffect::Runs);
  // Two paths meet with different values, so neither is relied on.
  const auto joined =
      loading(kArgument, {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 2),
                          BPF_STMT(BPF_LD | BPF_W | BPF_IMM, kAllow), BPF_STMT(BPF_JMP | BPF_JA, 1),
                          BPF_STMT(BPF_LD | BPF_W | BPF_IMM, kKill), BPF_STMT(BPF_RET | BPF_A, 0)});
  CHECK(effect_of(joined, SYS_close) == FilterEffect::MayHarm);
}

TEST_CASE("what is not a filter that the kernel would accept is taken as harmful") {
  CHECK(effect_of({}, SYS_close) == FilterEffect::MayHarm);
  const std::vector<sock_filter> endless{BPF_STMT(BPF_JMP | BPF_JA, 1000)};
  CHECK(effect_of(endless, SYS_close) == FilterEffect::MayHarm);
}

}  // namespace heapattach
