#include "inject/trace/map_blob.h"

#include <algorithm>
#include <cerrno>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace heapattach::trace {

namespace {

constexpr int kNoFile = -1;

struct Source {
  int descriptor = kNoFile;
  std::uint64_t offset = 0;
};

Result<void> map_at(InTarget& target, Range range, int protection, int flags, Source from) {
  const auto word = [](int value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t got = HA_TRY(target.call("mmap in the target", SYS_mmap,
                                               {range.start.value, range.bytes, word(protection),
                                                word(flags), word(from.descriptor), from.offset}));
  if (got == range.start.value) return {};
  return impossible("the kernel did not map memory where it was asked to");
}

Result<void> map_code(InTarget& target, const Plan& plan, int descriptor) {
  HA_TRY(map_at(target, plan.code(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
                {descriptor, 0}));
  const Range control = plan.control();
  HA_TRY(map_at(target, control, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, {}));
  static_cast<void>(HA_TRY(target.call("madvise(MADV_WIPEONFORK) in the target", SYS_madvise,
                                       {control.start.value, control.bytes, MADV_WIPEONFORK})));
  return {};
}

// Maps the ring, and then its records a second time over the second half of that mapping.
Result<void> map_ring(InTarget& target, const Plan& plan, int descriptor) {
  const Range ring = plan.ring();
  const std::uint64_t records = plan.head.ring_bytes;
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  HA_TRY(map_at(target, ring, kProtection, MAP_SHARED | MAP_FIXED_NOREPLACE,
                {descriptor, kBlobCodeBytes}));
  return map_at(target, {ring.start + kRingHeadBytes + records, records}, kProtection,
                MAP_SHARED | MAP_FIXED, {descriptor, kBlobCodeBytes + kRingHeadBytes});
}

}  // namespace

Result<void> map_blob(InTarget& target, const Plan& plan, int descriptor) {
  HA_TRY(map_code(target, plan, descriptor));
  return map_ring(target, plan, descriptor);
}

Result<void> check_mapped(InTarget& target,
                          const Process& process,
                          const Plan& plan,
                          const Fd& file) {
  struct stat ours {};
  if (fstat(file.get(), &ours) != 0) return os_error("fstat", errno);
  const MemoryMap map = HA_TRY(process.maps());
  const auto is_other = [&](const Mapping& mapping) {
    const auto overlaps = [&](Range range) {
      return mapping.range.start < range.end() && range.start < mapping.range.end();
    };
    return !mapping.is_anonymous() && (overlaps(plan.code()) || overlaps(plan.ring())) &&
           (mapping.inode != ours.st_ino || mapping.device != ours.st_dev);
  };
  if (std::ranges::none_of(map.mappings(), is_other)) return {};
  for (const Range range : {plan.ring(), plan.code()}) {
    static_cast<void>(
        HA_TRY(target.call("munmap in the target", SYS_munmap, {range.start.value, range.bytes})));
  }
  return impossible("another process is changing the program's descriptor table");
}

}  // namespace heapattach::trace
