#include "attach/sandbox/filter_program.h"

#include <linux/seccomp.h>

#include "attach/arch/system_calls.h"
#include "attach/base/check.h"

namespace heapattach {

namespace {

// Offsets in struct seccomp_data.
constexpr std::size_t kNumber = offsetof(seccomp_data, nr);
constexpr std::size_t kArchitecture = offsetof(seccomp_data, arch);
constexpr std::size_t kArguments = offsetof(seccomp_data, args);

sock_filter load(std::size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}

sock_filter give(std::uint32_t verdict) {
  return {BPF_RET | BPF_K, 0, 0, verdict};
}

// Skips so many instructions if the loaded word passes the test, and so many if not.
sock_filter test(std::uint16_t how, std::uint32_t value, std::uint8_t passed, std::uint8_t failed) {
  return {static_cast<std::uint16_t>(BPF_JMP | BPF_K | how), passed, failed, value};
}

}  // namespace

FilterProgram::Arguments& FilterProgram::Arguments::of(unsigned argument, std::uint32_t mask) {
  code_.push_back(load(kArguments + argument * sizeof(std::uint64_t)));
  if (~mask != 0) code_.push_back({BPF_ALU | BPF_AND | BPF_K, 0, 0, mask});
  return *this;
}

FilterProgram::Arguments& FilterProgram::Arguments::if_equal(std::uint32_t value,
                                                             std::uint32_t verdict) {
  code_.insert(code_.end(), {test(BPF_JEQ, value, 0, 1), give(verdict)});
  return *this;
}

FilterProgram::Arguments& FilterProgram::Arguments::if_any_bit(std::uint32_t bits,
                                                               std::uint32_t verdict) {
  code_.insert(code_.end(), {test(BPF_JSET, bits, 0, 1), give(verdict)});
  return *this;
}

FilterProgram::Arguments& FilterProgram::Arguments::if_no_bit(std::uint32_t bits,
                                                              std::uint32_t verdict) {
  code_.insert(code_.end(), {test(BPF_JSET, bits, 1, 0), give(verdict)});
  return *this;
}

FilterProgram::Arguments& FilterProgram::Arguments::otherwise(std::uint32_t verdict) {
  code_.push_back(give(verdict));
  return *this;
}

FilterProgram::FilterProgram(std::uint32_t foreign)
    : code_{load(kArchitecture), test(BPF_JEQ, kAuditArchitecture, 1, 0), give(foreign),
            load(kNumber),       test(BPF_JGE, kForeignCalls, 0, 1),      give(foreign)} {}

void FilterProgram::judge(long call, std::uint32_t verdict) {
  code_.insert(code_.end(), {test(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1), give(verdict)});
}

void FilterProgram::judge(long call, const Arguments& rules) {
  const std::size_t size = rules.code_.size() + 1;
  HA_CHECK(size <= UINT8_MAX);
  code_.push_back(
      test(BPF_JEQ, static_cast<std::uint32_t>(call), 0, static_cast<std::uint8_t>(size)));
  code_.insert(code_.end(), rules.code_.begin(), rules.code_.end());
  code_.push_back(load(kNumber));
}

void FilterProgram::otherwise(std::uint32_t verdict) {
  code_.push_back(give(verdict));
}

}  // namespace heapattach
