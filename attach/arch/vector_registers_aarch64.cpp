#include <array>
#include <cerrno>
#include <optional>
#include <span>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/vector_registers.h"
#include "attach/base/ptrace_word.h"

namespace heapattach {

namespace {

constexpr std::uint32_t kStreaming = 0x40b;  // NT_ARM_SSVE, which Debian 12's headers lack

// A header, and 32 registers of at most 256 bytes; the kernel leaves out what has no room.
using Saved = std::array<std::byte, kSveHeaderBytes + std::size_t{32} * 256>;

// Reads a set of registers as the kernel writes it; nothing if the processor has no such set.
Result<std::optional<std::span<const std::byte>>> read_set(pid_t tid,
                                                           std::uint32_t set,
                                                           std::span<std::byte> saved) {
  iovec area{saved.data(), saved.size()};
  const long result = ptrace(PTRACE_GETREGSET, tid, ptrace_word(set), &area);
  if (result == -1 && (errno == EINVAL || errno == ENODEV)) {
    return std::optional<std::span<const std::byte>>{};
  }
  HA_TRY(checked("PTRACE_GETREGSET", result));
  return std::optional<std::span<const std::byte>>{saved.first(area.iov_len)};
}

// The set in which z0 to z31 have values. In streaming mode it is the second, and the first then
// has only the low 16 bytes of each.
Result<std::optional<std::span<const std::byte>>> read_scalable(pid_t tid, Saved& saved) {
  for (const std::uint32_t set : {std::uint32_t{NT_ARM_SVE}, kStreaming}) {
    const auto seen = HA_TRY(read_set(tid, set, saved));
    if (seen && has_sve(*seen)) return seen;
  }
  return std::optional<std::span<const std::byte>>{};
}

}  // namespace

std::vector<std::uint64_t> read_vector_registers(pid_t tid) {
  Saved saved{};
  if (const auto scalable = read_scalable(tid, saved); scalable && *scalable) {
    return words_of_sve(**scalable);
  }
  const auto basic = read_set(tid, NT_PRFPREG, saved);
  return basic && *basic ? words_of_fpsimd(**basic) : std::vector<std::uint64_t>{};
}

// Values of ZA survive a system call, so they do not matter here.
Result<bool> uses_wide_vectors(pid_t tid) {
  Saved saved{};
  return HA_TRY(read_scalable(tid, saved)).has_value();
}

}  // namespace heapattach
