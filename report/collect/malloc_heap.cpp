#include "report/collect/malloc_heap.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attach/base/page.h"
#include "attach/memory/resident.h"
#include "symbols/boehm/collector_lists.h"
#include "symbols/heap/by_hand.h"
#include "symbols/heap/joined.h"
#include "symbols/heap/ranges.h"
#include "symbols/malloc/allocators.h"

namespace heapattach::snapshot {

namespace {

// Of smaller mappings, looking for untouched pages takes longer than copying them.
constexpr std::uint64_t kSmall = 256U << 10;

void add_range(Range range, std::vector<Range>& to) {
  if (range.bytes == 0) return;
  if (!to.empty() && to.back().end() == range.start) {
    to.back().bytes += range.bytes;
  } else {
    to.push_back(range);
  }
}

// Adds the pages for which `is_wanted` holds. Gaps of a few pages cost less than one more range.
template <class IsWanted>
void add_parts(Range range,
               const std::vector<PageState>& pages,
               IsWanted is_wanted,
               std::vector<Range>& parts) {
  constexpr std::size_t kGap = 16;
  std::size_t first = 0;
  std::size_t end = 0;  // of the pages to add; first if there are none yet
  const auto flush = [&] {
    add_range({range.start + first * page_bytes(), (end - first) * page_bytes()}, parts);
  };
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (!is_wanted(pages[i])) continue;
    if (end != first && i > end + kGap) {
      flush();
      end = first = i;
    }
    if (end == first) first = i;
    end = i + 1;
  }
  flush();
}

// The pages of a mapping for which `is_wanted` holds. A vast one is looked at in slices, because
// each of its pages takes 20 bytes of our memory meanwhile.
template <class IsWanted>
Result<std::vector<Range>> parts_of(const Process& process, Range range, IsWanted is_wanted) {
  constexpr std::uint64_t kSlice = std::uint64_t{1} << 30;
  std::vector<Range> parts;
  for (std::uint64_t done = 0; done < range.bytes; done += kSlice) {
    const Range slice{range.start + done, std::min(kSlice, range.bytes - done)};
    add_parts(slice, HA_TRY(read_pages(process, slice)), is_wanted, parts);
  }
  return parts;
}

// Decides for one mapping after the other what to copy of it.
class CopyPlan {
 public:
  CopyPlan(const Target& target, const Process* process, std::vector<Range> constants)
      : target_(target), process_(process), constants_(std::move(constants)) {}

  void add(const Mapping& mapping) {
    if (heap::may_hold_allocations(mapping)) {
      add_writable(mapping);
    } else if (may_have_been_written(mapping)) {
      if (mapping.range.bytes > kLargestMapping) return leave_out(mapping);
      const auto parts = parts_of(*process_, mapping.range, is_own_copy);
      if (!parts) return leave_out(mapping);
      for (const Range& part : *parts) {
        add_whole(part);
        plan_.written.push_back(part);
      }
    }
  }

  MallocCopy take() && {
    for (const Range& range : constants_) add_whole(range);
    std::sort(plan_.ranges.begin(), plan_.ranges.end());
    std::sort(plan_.touched.begin(), plan_.touched.end());
    return std::move(plan_);
  }

 private:
  static bool is_used(const PageState& page) { return page.is_present || page.is_swapped; }
  // Not the file's own contents, which hold no pointer.
  static bool is_own_copy(const PageState& page) { return is_used(page) && !page.is_of_file; }

  void add_whole(Range range) {
    plan_.ranges.push_back(range);
    plan_.touched.push_back(range);
  }

  void leave_out(const Mapping& mapping) {
    plan_.unread.push_back(fmt::format("a mapping of {} bytes at {:#x} was not read",
                                       mapping.range.bytes, mapping.range.start.value));
  }

  void add_writable(const Mapping& mapping) {
    const Range range = mapping.range;
    if (range.bytes > kLargestMapping) return leave_out(mapping);
    // A page of another process may have contents without being here.
    const bool is_served = target_.live && target_.live->stalling().userfault_bytes({range}) > 0;
    if (process_ == nullptr || is_served || range.bytes < kSmall) return add_whole(range);
    const bool is_anonymous = mapping.is_anonymous();
    // The readers of the collector's data expect it in one piece.
    const bool is_of_collector = std::any_of(
        target_.collector_data.begin(), target_.collector_data.end(), [&](const Range& data) {
          return data.start.value < range.end().value && range.start.value < data.end().value;
        });
    if (!is_anonymous && is_of_collector) return add_whole(range);
    const auto parts = parts_of(*process_, range, is_anonymous ? is_used : is_own_copy);
    if (!parts) return add_whole(range);
    if (is_anonymous) {
      plan_.ranges.push_back(range);
      plan_.touched.insert(plan_.touched.end(), parts->begin(), parts->end());
    } else {
      for (const Range& part : *parts) add_whole(part);
    }
  }

  // A private mapping of a file that is only readable at present.
  [[nodiscard]] bool may_have_been_written(const Mapping& mapping) const {
    if (process_ == nullptr || mapping.is_anonymous() || !mapping.is_private) return false;
    if (!mapping.readable || mapping.writable || mapping.path.starts_with("/dev/")) return false;
    return std::none_of(constants_.begin(), constants_.end(),
                        [&](const Range& range) { return mapping.range.contains(range.start); });
  }

  const Target& target_;
  const Process* process_;
  std::vector<Range> constants_;
  MallocCopy plan_;
};

// What modules have made read-only after relocation: all pages of a mapping that cannot be written.
std::vector<Range> constants_of(const Modules& modules, const MemoryMap& map) {
  std::vector<Range> constants;
  for (const Module& module : modules.all()) {
    const auto relro = module.relro();
    const Mapping* mapping = relro ? map.find(relro->start) : nullptr;
    if (mapping == nullptr || !mapping->readable || heap::may_hold_allocations(*mapping)) continue;
    const RemoteAddr end = std::min(relro->end(), mapping->range.end());
    constants.push_back({relro->start, (end - relro->start) & ~std::uint64_t{7}});
  }
  return constants;
}

// The writable anonymous memory that is not the collector's. Of the break's memory, malloc itself
// knows which parts it has.
std::vector<Range> places_for_chunks(const MemoryMap& map, std::span<const Range> collector) {
  std::vector<Range> places;
  for (const Mapping& mapping : map.mappings()) {
    const bool may_hold = heap::may_hold_allocations(mapping) && mapping.is_anonymous() &&
                          mapping.path != "[stack]" && mapping.writable;
    if (!may_hold) continue;
    if (mapping.path == "[heap]") {
      places.push_back(mapping.range);
      continue;
    }
    const std::vector<Range> parts = heap::without(mapping.range, collector);
    places.insert(places.end(), parts.begin(), parts.end());
  }
  return places;
}

std::vector<RemoteAddr> thread_pointers(std::span<const FrozenThread> threads) {
  std::vector<RemoteAddr> pointers;
  for (const FrozenThread& thread : threads) {
    if (thread.registers) pointers.push_back(thread.registers->thread_pointer);
  }
  return pointers;
}

std::vector<Range> with_headers(std::vector<Range> blocks, const heap::BlockIndex& index) {
  blocks.insert(blocks.end(), index.headers.begin(), index.headers.end());
  return blocks;
}

}  // namespace

std::optional<std::uint64_t> resident_bytes(const Target& target) {
  if (!target.process) return std::nullopt;
  const auto text = target.process->read_file("statm");
  if (!text) return std::nullopt;
  unsigned long long all = 0;
  unsigned long long resident = 0;
  if (std::sscanf(text->c_str(), "%llu %llu", &all, &resident) != 2) return std::nullopt;
  return resident * page_bytes();
}

std::uint64_t most_used_bytes(const Target& target) {
  constexpr std::string_view kSwapped = "\nVmSwap:";
  const auto resident = resident_bytes(target);
  if (!resident) return ~std::uint64_t{0};
  const auto text = target.process->read_file("status");
  const std::size_t at = text ? text->find(kSwapped) : std::string::npos;
  if (at == std::string::npos) return ~std::uint64_t{0};
  return *resident + (std::strtoull(text->c_str() + at + kSwapped.size(), nullptr, 10) << 10U);
}

Result<std::vector<Range>> touched_parts(const Process& process,
                                         std::span<const Range> ranges,
                                         std::chrono::steady_clock::time_point deadline) {
  const auto is_used = [](const PageState& page) { return page.is_present || page.is_swapped; };
  constexpr std::uint64_t kSlice = std::uint64_t{1} << 30;
  std::vector<Range> parts;
  for (const Range& range : ranges) {
    if (range.bytes < kSmall || range.start.value % page_bytes() != 0) {
      parts.push_back(range);
      continue;
    }
    for (std::uint64_t done = 0; done < range.bytes; done += kSlice) {
      if (std::chrono::steady_clock::now() > deadline) {
        return Error{ErrorKind::Timeout, "looking for pages with contents"};
      }
      const Range slice{range.start + done, std::min(kSlice, range.bytes - done)};
      const std::vector<PageState> pages = HA_TRY(read_pages(process, slice));
      add_parts(slice, pages, is_used, parts);
      // The slice may end inside its last page.
      if (!parts.empty() && parts.back().end() > slice.end()) {
        parts.back().bytes = slice.end() - parts.back().start;
      }
    }
  }
  return parts;
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

MallocCopy plan_malloc_copy(const Target& target, const Process* process, const MemoryMap& map) {
  CopyPlan plan(target, process, constants_of(target.modules, map));
  for (const Mapping& mapping : map.mappings()) plan.add(mapping);
  return std::move(plan).take();
}

void note_uncopied(const Process& process, MallocCopy& copy) {
  constexpr std::array<std::string_view, 2> kFlags = {"dc", "wf"};
  const auto smaps = process.read_file("smaps");
  const auto map = process.maps();
  if (!smaps || !map) return;
  std::uint64_t bytes = 0;
  for (const Range& range : ranges_with_flags(*smaps, kFlags)) {
    const Mapping* mapping = map->find(range.start);
    if (mapping != nullptr && heap::may_hold_allocations(*mapping)) bytes += range.bytes;
  }
  if (bytes == 0) return;
  copy.unread.push_back(
      fmt::format("{} bytes were not searched, because the program keeps them out of copies of "
                  "itself: use --snapshot freeze",
                  bytes));
}

Result<void> read_malloc_heap(const Target& target, HeldHeap& held) {
  const std::vector<Range> collector =
      target.is_both ? heap::memory_of(held.index) : std::vector<Range>{};
  const std::vector<Range> anonymous = places_for_chunks(held.map, collector);
  const std::vector<Range> data = data_of(target.modules);
  const std::vector<RemoteAddr> threads = thread_pointers(held.freeze.threads);
  const MallocCopy& copy = held.malloc_copy;
  // A collector may get memory by moving the break, among malloc's.
  const std::vector<Range> foreign =
      target.is_both ? heap::joined(with_headers(collector, held.index)) : std::vector<Range>{};
  auto found = glibc::read_heap(held.capture, {data, anonymous, threads, copy.touched, foreign});
  if (!found) return glibc::explain_missing(target.modules, std::move(found).error());
  glibc::Heap heap = std::move(found).value();
  heap.unread.insert(heap.unread.end(), copy.unread.begin(), copy.unread.end());
  if (!target.is_both) {
    held.index = std::move(heap.index);
    held.counters.heap_bytes = heap.account.heap_bytes();
    held.counters.free_bytes = heap.account.free_bytes();
  }
  // What is alive of the collector's heap counts, and of its own tables nothing.
  heap.states.insert(heap.states.end(), collector.begin(), collector.end());
  const std::vector<Range>& tables = target.collector.excluded;
  heap.states.insert(heap.states.end(), tables.begin(), tables.end());
  if (target.is_both) {
    // Each header names its block, and so would keep the first object in it.
    const std::vector<Range>& headers = held.index.headers;
    heap.states.insert(heap.states.end(), headers.begin(), headers.end());
    const auto lists =
        boehm::collector_lists(held.capture, target.collector_data, target.collector.kinds,
                               held.index, held.freeze.threads);
    heap.states.insert(heap.states.end(), lists.begin(), lists.end());
  }
  std::vector<Range> constants = constants_of(target.modules, held.map);
  constants.insert(constants.end(), copy.written.begin(), copy.written.end());
  std::vector<Range> own = heap.claimed;
  own.insert(own.end(), heap.states.begin(), heap.states.end());
  (target.is_both ? held.malloc_roots : held.roots) =
      heap::find_roots(own, held.map, constants, copy.touched, held.freeze.threads);
  held.malloc = std::move(heap);
  return {};
}

}  // namespace heapattach::snapshot
