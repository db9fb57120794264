#include "report/collect/malloc_heap.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "attach/resident.h"
#include "symbols/malloc/allocators.h"
#include "symbols/malloc/live.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kLarge = 64U << 20;

void add_range(Range range, std::vector<Range>& to) {
  if (range.bytes == 0) return;
  if (!to.empty() && to.back().end() == range.start) {
    to.back().bytes += range.bytes;
  } else {
    to.push_back(range);
  }
}

// Adds the pages that have contents. Gaps of a few pages cost less than one more range.
void add_used(Range range, const std::vector<PageState>& pages, std::vector<Range>& to) {
  constexpr std::size_t kGap = 16;
  std::size_t first = 0;
  std::size_t end = 0;  // of the pages to add; first if there are none yet
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (!pages[i].is_present && !pages[i].is_swapped) continue;
    if (end != first && i > end + kGap) {
      add_range({range.start + first * kPageBytes, (end - first) * kPageBytes}, to);
      end = first = i;
    }
    if (end == first) first = i;
    end = i + 1;
  }
  add_range({range.start + first * kPageBytes, (end - first) * kPageBytes}, to);
}

// What modules have made read-only after relocation: all pages of a mapping that cannot be written.
std::vector<Range> constants_of(const Modules& modules, const MemoryMap& map) {
  std::vector<Range> constants;
  for (const Module& module : modules.all()) {
    const auto relro = module.relro();
    const Mapping* mapping = relro ? map.find(relro->start) : nullptr;
    if (mapping == nullptr || !mapping->readable || glibc::may_hold_chunks(*mapping)) continue;
    const RemoteAddr end = std::min(relro->end(), mapping->range.end());
    constants.push_back({relro->start, (end - relro->start) & ~std::uint64_t{7}});
  }
  return constants;
}

std::vector<RemoteAddr> thread_pointers(std::span<const FrozenThread> threads) {
  std::vector<RemoteAddr> pointers;
  for (const FrozenThread& thread : threads) {
    if (thread.registers) pointers.push_back(thread.registers->thread_pointer);
  }
  return pointers;
}

}  // namespace

std::optional<std::uint64_t> resident_bytes(const Target& target) {
  if (!target.process) return std::nullopt;
  const auto text = target.process->read_file("statm");
  if (!text) return std::nullopt;
  unsigned long long all = 0;
  unsigned long long resident = 0;
  if (std::sscanf(text->c_str(), "%llu %llu", &all, &resident) != 2) return std::nullopt;
  return resident * kPageBytes;
}

std::vector<Range> data_of(const Modules& modules) {
  std::vector<Range> data;
  for (const Module& module : modules.all()) {
    for (const Segment& segment : module.segments()) {
      if (segment.writable) data.push_back(segment.range);
    }
  }
  return data;
}

Result<std::vector<Range>> plan_malloc_copy(const Process* process,
                                            const Modules& modules,
                                            const MemoryMap& map) {
  std::vector<Range> plan = constants_of(modules, map);
  for (const Mapping& mapping : map.mappings()) {
    if (!glibc::may_hold_chunks(mapping)) continue;
    const bool is_sparse =
        process != nullptr && mapping.is_anonymous() && mapping.range.bytes > kLarge;
    if (!is_sparse) {
      add_range(mapping.range, plan);
      continue;
    }
    const auto pages = read_pages(*process, mapping.range);
    if (!pages) {
      add_range(mapping.range, plan);
    } else {
      add_used(mapping.range, *pages, plan);
    }
  }
  std::sort(plan.begin(), plan.end());
  return plan;
}

Result<void> read_malloc_heap(const Target& target, HeldHeap& held) {
  std::vector<Range> anonymous;
  for (const Mapping& mapping : held.map.mappings()) {
    const bool may_hold = glibc::may_hold_chunks(mapping) && mapping.is_anonymous() &&
                          mapping.path != "[stack]" && mapping.writable;
    if (may_hold) anonymous.push_back(mapping.range);
  }
  const std::vector<Range> data = data_of(target.modules);
  const std::vector<RemoteAddr> threads = thread_pointers(held.freeze.threads);
  auto found = glibc::read_heap(held.capture, {data, anonymous, threads});
  if (!found) return glibc::explain_missing(target.modules, std::move(found).error());
  glibc::Heap heap = std::move(found).value();
  held.index = std::move(heap.index);
  held.counters.heap_bytes = heap.account.heap_bytes();
  held.counters.free_bytes = heap.account.free_bytes();
  held.roots = glibc::find_roots(heap, held.map, constants_of(target.modules, held.map),
                                 held.freeze.threads);
  held.malloc = std::move(heap);
  return {};
}

}  // namespace heapattach::snapshot
