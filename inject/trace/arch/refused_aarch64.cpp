#include "attach/base/check.h"
#include "inject/trace/arch/jump.h"
#include "inject/trace/arch/move_entry.h"

// There are no traces of processes on aarch64 yet. check_can_trace() refuses a trace before these
// functions are called; a call is a fault of ours.

namespace heapattach::trace {

namespace {

constexpr bool kIsRefused = false;

}  // namespace

// There is no blob: blob_head() fails.
extern const unsigned char kBlobBytes[] = {0};
extern const unsigned kBlobSize = 0;

bool can_jump(std::uint64_t /*from*/, std::uint64_t /*to*/) {
  HA_CHECK(kIsRefused);
  return false;
}

std::vector<std::byte> jump(std::uint64_t /*from*/, std::uint64_t /*to*/) {
  HA_CHECK(kIsRefused);
  return {};
}

Result<MovedEntry> move_entry(const Disassembler& /*disassembler*/,
                              std::span<const std::byte> /*function*/,
                              RemoteAddr /*entry*/,
                              RemoteAddr /*to*/) {
  HA_CHECK(kIsRefused);
  return MovedEntry();
}

}  // namespace heapattach::trace
