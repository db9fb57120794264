#include "symbols/musl/source.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "symbols/heap/by_hand.h"
#include "symbols/heap/ranges.h"
#include "symbols/malloc/allocators.h"
#include "symbols/musl/undecided.h"

namespace heapattach::musl {

namespace {

// Names that only musl has: of its loader, and of its start-up code if the program is static.
constexpr std::array<std::string_view, 2> kSymbols{"_dlstart", "__init_libc"};

const Module* find_library(const Modules& modules) {
  for (const Module& module : modules.all()) {
    const bool is_named =
        module.name().starts_with("ld-musl-") || module.name().starts_with("libc.musl-");
    const bool is_musl = is_named || std::any_of(kSymbols.begin(), kSymbols.end(), [&](auto name) {
                           return module.find_symbol(name).has_value();
                         });
    if (is_musl) return &module;
  }
  return nullptr;
}

// Whether glibc is a library of the process, or part of the program and known by a symbol.
bool has_glibc(const Modules& modules) {
  return std::any_of(modules.all().begin(), modules.all().end(), [](const Module& module) {
    return module.name() == "libc.so.6" || module.name().starts_with("libc-2.") ||
           module.find_symbol("__libc_memalign").has_value();
  });
}

// The writable anonymous memory that is not another heap's.
std::vector<Range> places_for_chunks(const MemoryMap& map, std::span<const Range> others) {
  std::vector<Range> places;
  for (const Mapping& mapping : map.mappings()) {
    const bool may_hold = heap::may_hold_allocations(mapping) && mapping.is_anonymous() &&
                          mapping.path != "[stack]" && mapping.writable;
    if (may_hold) heap::subtract(mapping.range, others, places);
  }
  std::sort(places.begin(), places.end());
  return places;
}

Error no_musl() {
  return Error{ErrorKind::Unsupported, "the process does not use musl's malloc"};
}

Error no_heap(const Modules& modules) {
  const Module* const library = find_library(modules);
  if (library == nullptr) return no_musl();
  return Error{ErrorKind::Unsupported,
               fmt::format("the program has musl's C library ({}), but no heap: a static program "
                           "that never frees has none, and no other has one before it allocates",
                           library->name())}
      .advise("a shared build of the program");
}

std::vector<heap::Fact> facts_of(const Account& account) {
  const std::string_view parts = account.has_chunks ? "segments" : "groups";
  const std::string_view free = account.has_chunks ? "bin_bytes" : "free_slot_bytes";
  return {{parts, {}, account.parts},
          {free, "free, between what is in use (fragmentation)", account.free},
          {"fragmented_bytes", {}, account.free},
          {"mapped_allocations", {}, account.mapped},
          {"mapped_allocation_bytes", {}, account.mapped_bytes}};
}

std::string remark_of(const Account& account) {
  std::string text =
      fmt::format("{} {}{}", account.parts, account.has_chunks ? "segment" : "group of slot",
                  account.parts == 1 ? "" : "s");
  if (account.mapped == 0) return text;
  return text + fmt::format("; {} bytes of the heap are {} mapped allocation{}",
                            account.mapped_bytes, account.mapped, account.mapped == 1 ? "" : "s");
}

}  // namespace

std::string Source::module(const Modules& modules) const {
  const Module* const library = find_library(modules);
  return library == nullptr ? std::string() : library->name();
}

Result<void> Source::check(const Modules& modules, const MemoryReader& memory) const {
  if (!has_heap(memory, heap::data_of(modules))) return no_heap(modules);
  return {};
}

Result<void> Source::read(const heap::Copied& copied,
                          const heap::Taken& taken,
                          heap::Contents& contents) {
  const std::vector<Range> data = heap::data_of(copied.modules);
  const std::vector<Range> anonymous = places_for_chunks(copied.map, taken.blocks);
  auto found = read_heap(copied.capture, {data, anonymous, copied.threads.size(), copied.touched});
  if (!found) return no_heap(copied.modules);
  contents.index = std::move(found->index);
  contents.counters.heap_bytes = found->account.heap;
  contents.counters.free_bytes = found->account.free;
  contents.counters.unmapped_bytes = 0;
  contents.own = std::move(found->own);
  contents.facts = facts_of(found->account);
  contents.remark = remark_of(found->account);
  if (!found->problems.empty()) {
    contents.problems.push_back(
        fmt::format("musl's malloc does not add up: {}", fmt::join(found->problems, "; ")));
  }
  return {};
}

heap::LiveSet Source::mark(heap::Heap& heap,
                           const heap::Copied& copied,
                           std::vector<heap::RootRange> roots,
                           unsigned workers) {
  return heap::find_reachable(heap, copied.capture, std::move(roots), copied.threads, workers);
}

Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target) {
  HA_TRY(glibc::check_allocator(target.modules));
  if (has_glibc(target.modules)) return no_musl();
  const bool is_musl = find_library(target.modules) != nullptr ||
                       has_heap(target.memory, heap::data_of(target.modules));
  if (is_musl) return std::unique_ptr<heap::Source>(std::make_unique<Source>());
  return std::unique_ptr<heap::Source>(std::make_unique<Undecided>());
}

}  // namespace heapattach::musl
