#include "report/collect/see_memory.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "attach/base/page.h"
#include "attach/process/observe.h"
#include "report/collect/header.h"
#include "report/collect/opened.h"
#include "symbols/heap/object_allocators.h"
#include "symbols/heap/ranges.h"

namespace heapattach::snapshot {

namespace {

std::vector<Range> used_blocks(const heap::BlockIndex& index, const heap::Shape& shape) {
  std::vector<Range> ranges;
  ranges.reserve(index.blocks.size());
  for (const heap::Block& block : index.blocks) {
    const RemoteAddr page{block.start.value - block.start.value % page_bytes()};
    ranges.push_back({page, shape.extent_bytes(block)});
  }
  return heap::joined(std::move(ranges));
}

bool touches(const Range& mapping, const std::vector<Range>& ranges) {
  const auto after =
      std::lower_bound(ranges.begin(), ranges.end(), mapping.end(),
                       [](const Range& one, RemoteAddr end) { return one.start < end; });
  return after != ranges.begin() && (after - 1)->end() > mapping.start;
}

void add_stacks(std::span<const FrozenThread> threads, pid_t leader, SeenMemory& seen) {
  const auto add = [&](const FrozenThread& thread, RemoteAddr at) {
    seen.stacks.push_back(at);
    seen.owners.push_back({at, thread.tid, thread.name});
  };
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) {
      if (thread.blocked_stack_pointer) add(thread, *thread.blocked_stack_pointer);
      continue;
    }
    add(thread, thread.registers->stack_pointer);
    // glibc keeps a thread's own data at the end of its stack, except for the first thread.
    if (thread.tid != leader) seen.stacks.push_back(thread.registers->thread_pointer);
  }
}

// The bytes of `mapping` in the ranges, which are sorted and disjoint.
std::uint64_t bytes_in(const Range& mapping, const std::vector<Range>& ranges) {
  std::uint64_t bytes = 0;
  for (const Range& one : ranges) {
    const RemoteAddr from = std::max(one.start, mapping.start);
    const RemoteAddr to = std::min(one.end(), mapping.end());
    if (from < to) bytes += to - from;
  }
  return bytes;
}

// Threads that were not stopped, with their stack pointers as far as the kernel reports them.
std::vector<FrozenThread> running_threads(const Process& process) {
  std::vector<FrozenThread> threads;
  const auto seen = observe_threads(process);
  if (!seen) return threads;
  for (const ObservedThread& one : *seen) {
    FrozenThread& thread = threads.emplace_back();
    thread.tid = one.tid;
    thread.name = one.name;
    thread.blocked_stack_pointer = one.stack_pointer;
  }
  return threads;
}

}  // namespace

void add_malloc(const Process& process, std::vector<Range> memory, SeenMemory& seen) {
  std::erase_if(memory, [](const Range& one) { return one.bytes < page_bytes(); });
  std::sort(memory.begin(), memory.end());
  seen.malloc = std::move(memory);
  for (SeenMapping& one : seen.mappings) {
    const Mapping& mapping = one.mapping.mapping;
    if (!mapping.path.empty() || !one.pages.empty()) continue;
    const std::uint64_t bytes = bytes_in(mapping.range, seen.malloc);
    one.is_mallocs = bytes == mapping.range.bytes;
    if (bytes == 0 || one.is_mallocs) continue;
    if (auto pages = read_pages(process, mapping.range)) one.pages = std::move(*pages);
  }
}

Result<SeenProcess> see_process(const Request& request) {
  const Opened opened = HA_TRY(Opened::open(request));
  if (!opened.process) return Error{ErrorKind::Unsupported, "a core file does not show it"};
  SeenProcess seen;
  seen.memory = HA_TRY(see_memory(*opened.process, {}, {}, running_threads(*opened.process), {}));
  seen.memory.objects_of = heap::find_object_allocator(opened.modules);
  fill_origin(opened, seen.header);
  seen.header.captured = moment_text(std::chrono::system_clock::now());
  return seen;
}

Result<SeenMemory> see_memory(const Process& process,
                              const heap::BlockIndex& index,
                              const heap::Shape& shape,
                              std::span<const FrozenThread> threads,
                              std::span<const crystal::FiberStack> fibers) {
  SeenMemory seen;
  seen.used = used_blocks(index, shape);
  seen.free = heap::joined(index.free);
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
