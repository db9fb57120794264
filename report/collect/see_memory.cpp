#include "report/collect/see_memory.h"

#include <algorithm>
#include <utility>

#include "symbols/boehm/layout.h"

namespace heapattach::snapshot {

namespace {

// Blocks that touch are one range.
std::vector<Range> merged(const std::vector<Range>& sorted) {
  std::vector<Range> ranges;
  for (const Range& one : sorted) {
    if (!ranges.empty() && one.start <= ranges.back().end()) {
      ranges.back().bytes = std::max(ranges.back().end(), one.end()) - ranges.back().start;
    } else {
      ranges.push_back(one);
    }
  }
  return ranges;
}

std::vector<Range> used_blocks(const heap::BlockIndex& index) {
  std::vector<Range> ranges;
  ranges.reserve(index.blocks.size());
  for (const heap::Block& block : index.blocks) {
    const std::uint64_t bytes = std::max<std::uint64_t>(block.objects, 1) * block.object_bytes;
    ranges.push_back({block.start, (bytes + boehm::kUsualBlockBytes - 1) / boehm::kUsualBlockBytes *
                                       boehm::kUsualBlockBytes});
  }
  return merged(ranges);
}

bool touches(const Range& mapping, const std::vector<Range>& ranges) {
  const auto after =
      std::lower_bound(ranges.begin(), ranges.end(), mapping.end(),
                       [](const Range& one, RemoteAddr end) { return one.start < end; });
  return after != ranges.begin() && (after - 1)->end() > mapping.start;
}

void add_stacks(std::span<const FrozenThread> threads, pid_t leader, SeenMemory& seen) {
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) {
      if (thread.blocked_stack_pointer) seen.stacks.push_back(*thread.blocked_stack_pointer);
      continue;
    }
    seen.stacks.push_back(thread.registers->stack_pointer);
    // glibc keeps a thread's own data at the end of its stack; the first thread's is elsewhere.
    if (thread.tid != leader) seen.stacks.push_back(thread.registers->thread_pointer);
  }
}

}  // namespace

Result<SeenMemory> see_memory(const Process& process,
                              const heap::BlockIndex& index,
                              std::span<const FrozenThread> threads,
                              std::span<const crystal::FiberStack> fibers) {
  SeenMemory seen;
  seen.used = used_blocks(index);
  seen.free = merged(index.free);
  add_stacks(threads, process.pid(), seen);
  for (const crystal::FiberStack& fiber : fibers) seen.fibers.push_back(fiber.stack.start);
  const std::string text = HA_TRY(process.read_file("smaps"));
  for (ResidentMapping& mapping : HA_TRY(parse_smaps(text))) {
    SeenMapping one;
    const Range range = mapping.mapping.range;
    if (touches(range, seen.used) || touches(range, seen.free)) {
      one.pages = HA_TRY(read_pages(process, range));
    }
    one.mapping = std::move(mapping);
    seen.mappings.push_back(std::move(one));
  }
  return seen;
}

}  // namespace heapattach::snapshot
