#include "symbols/malloc/source.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/arch/thread_data.h"
#include "symbols/elf/machine.h"
#include "symbols/heap/by_hand.h"
#include "symbols/heap/ranges.h"
#include "symbols/malloc/allocators.h"
#include "symbols/malloc/library_objects.h"

namespace heapattach::glibc {

namespace {

// The writable anonymous memory that is not another heap's. malloc's own records show which parts
// of the memory below the break are its own.
std::vector<Range> places_for_chunks(const MemoryMap& map, std::span<const Range> others) {
  std::vector<Range> places;
  for (const Mapping& mapping : map.mappings()) {
    const bool may_hold = heap::may_hold_allocations(mapping) && mapping.is_anonymous() &&
                          mapping.path != "[stack]" && mapping.writable;
    if (!may_hold) continue;
    if (mapping.path == "[heap]") {
      places.push_back(mapping.range);
      continue;
    }
    const std::vector<Range> parts = heap::without(mapping.range, others);
    places.insert(places.end(), parts.begin(), parts.end());
  }
  return places;
}

// For each thread, the end of the C library's thread-local variables.
std::vector<RemoteAddr> thread_pointers(std::span<const FrozenThread> threads,
                                        std::uint16_t machine) {
  const ThreadData* const data_at = thread_data(machine);
  std::vector<RemoteAddr> pointers;
  if (data_at == nullptr) return pointers;
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) continue;
    pointers.push_back(thread.registers->thread_pointer + data_at->variables_end);
  }
  return pointers;
}

// malloc's figures, as mallinfo2() returns them.
std::vector<heap::Fact> facts_of(const Account& account) {
  return {{"arenas", {}, account.arenas.size()},
          {"bin_bytes", "free, between what is in use (fragmentation)",
           account.sum(&ArenaAccount::free)},
          {"fragmented_bytes", {}, account.sum(&ArenaAccount::free)},
          {"free_page_bytes", {}, account.sum(&ArenaAccount::free_pages)},
          {"fast_bin_bytes", "free, in fast bins", account.sum(&ArenaAccount::fast)},
          {"cache_bytes", "free, in the caches of threads", account.sum(&ArenaAccount::cached)},
          {"top_bytes", "free, at the ends of arenas", account.sum(&ArenaAccount::top)},
          {"mapped_allocations", {}, account.mapped_chunks},
          {"mapped_allocation_bytes", {}, account.mapped_bytes}};
}

std::string remark_of(const Account& account) {
  std::string text =
      fmt::format("{} arena{}", account.arenas.size(), account.arenas.size() == 1 ? "" : "s");
  if (account.mapped_chunks == 0) return text;
  return text + fmt::format("; {} bytes of the heap are {} mapped allocation{}",
                            account.mapped_bytes, account.mapped_chunks,
                            account.mapped_chunks == 1 ? "" : "s");
}

}  // namespace

// Only symbols show which module contains malloc.
std::string Source::module(const Modules& modules) const {
  for (const Module& module : modules.all()) {
    if (module.find_symbol("mallopt")) return module.name();
  }
  return {};
}

Result<void> Source::check(const Modules& modules, const MemoryReader& memory) const {
  auto found = check_heap(memory, heap::data_of(modules));
  if (!found) return explain_missing(modules, std::move(found).error());
  return {};
}

Result<void> Source::read(const heap::Copied& copied,
                          const heap::Taken& taken,
                          heap::Contents& contents) {
  const std::vector<Range> anonymous = places_for_chunks(copied.map, taken.blocks);
  const std::vector<Range> data = heap::data_of(copied.modules);
  const std::vector<RemoteAddr> threads =
      thread_pointers(copied.threads, machine_of(copied.modules));
  auto found = read_heap(copied.capture, {data, anonymous, threads, copied.touched, taken.foreign});
  if (!found) return explain_missing(copied.modules, std::move(found).error());
  contents.index = std::move(found->index);
  contents.counters.heap_bytes = found->account.heap_bytes();
  contents.counters.free_bytes = found->account.free_bytes();
  contents.counters.unmapped_bytes = 0;
  contents.own = std::move(found->claimed);
  contents.own.insert(contents.own.end(), found->states.begin(), found->states.end());
  contents.facts = facts_of(found->account);
  contents.remark = remark_of(found->account);
  if (!found->problems.empty()) {
    contents.problems.push_back(
        fmt::format("malloc's account does not add up: {}", fmt::join(found->problems, "; ")));
  }
  contents.unread = std::move(found->unread);
  return {};
}

heap::LiveSet Source::mark(heap::Heap& heap,
                           const heap::Copied& copied,
                           std::vector<heap::RootRange> roots,
                           unsigned workers) {
  heap::LiveSet found =
      heap::find_reachable(heap, copied.capture, std::move(roots), copied.threads, workers);
  found.own = find_library_objects(heap, copied);
  return found;
}

Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target) {
  HA_TRY(check_allocator(target.modules));
  return std::unique_ptr<heap::Source>(std::make_unique<Source>());
}

}  // namespace heapattach::glibc
