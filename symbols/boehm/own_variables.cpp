#include "symbols/boehm/own_variables.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "symbols/boehm/collector_code.h"

namespace heapattach::boehm {
namespace {

// From most of its files, in releases from 7.2 to 8.3.
constexpr std::array<std::string_view, 44> kNames = {"GC_all_interior_pointers",
                                                     "GC_allocate_ml",
                                                     "GC_allocd_bytes_per_finalizer",
                                                     "GC_arrays",
                                                     "GC_black_list_spacing",
                                                     "GC_current_warn_proc",
                                                     "GC_debugging_started",
                                                     "GC_dirty_maintained",
                                                     "GC_dont_expand",
                                                     "GC_dont_gc",
                                                     "GC_dont_precollect",
                                                     "GC_excl_table",
                                                     "GC_fail_count",
                                                     "GC_finalize_on_demand",
                                                     "GC_finalizer_notifier",
                                                     "GC_find_leak",
                                                     "GC_force_unmap_on_gcollect",
                                                     "GC_free_space_divisor",
                                                     "GC_full_freq",
                                                     "GC_gc_no",
                                                     "GC_greatest_plausible_heap_addr",
                                                     "GC_handle_fork",
                                                     "GC_incremental",
                                                     "GC_is_initialized",
                                                     "GC_java_finalization",
                                                     "GC_least_plausible_heap_addr",
                                                     "GC_mark_no",
                                                     "GC_max_retries",
                                                     "GC_n_kinds",
                                                     "GC_need_to_lock",
                                                     "GC_no_dls",
                                                     "GC_non_gc_bytes",
                                                     "GC_obj_kinds",
                                                     "GC_oom_fn",
                                                     "GC_page_size",
                                                     "GC_parallel",
                                                     "GC_print_all_smashed",
                                                     "GC_print_heap_obj",
                                                     "GC_push_other_roots",
                                                     "GC_push_typed_structures",
                                                     "GC_same_obj_print_proc",
                                                     "GC_stackbottom",
                                                     "GC_threads",
                                                     "GC_unmap_threshold"};

bool is_own(const Symbol& symbol) {
  return !symbol.is_function &&
         std::find(kNames.begin(), kNames.end(), symbol.name) != kNames.end();
}

// The linker puts data that is read-only after relocation, other initialised data, and zeroed data
// in places of their own.
enum class Place { Nowhere, Constant, Initialised, Zeroed };

Place place_of(const Module& module, RemoteAddr at) {
  const auto segments = module.segments();
  const bool is_data = std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return segment.writable && segment.range.contains(at);
  });
  if (!is_data) return Place::Nowhere;
  const auto relro = module.relro();
  if (relro && relro->contains(at)) return Place::Constant;
  return module.file_bytes(at).empty() ? Place::Zeroed : Place::Initialised;
}

}  // namespace

Range range_of_own(std::span<const Symbol> symbols) {
  RemoteAddr first{~std::uint64_t{0}};
  RemoteAddr end{0};
  for (const Symbol& symbol : symbols) {
    if (!is_own(symbol)) continue;
    first = std::min(first, symbol.address);
    end = std::max(end, symbol.address + symbol.bytes);
  }
  return first < end ? Range{first, end - first} : Range{};
}

std::vector<Range> own_variables(const Modules& modules, const Collector& collector) {
  std::vector<Range> ranges;
  for (const Module& module : modules.all()) {
    if (module.name() != collector.module && module.path() != collector.module) continue;
    const std::vector<Symbol> symbols = module.symbols_with_prefix("GC_");
    if (symbols.empty()) {
      if (const auto code = find_collector_code(module, collector)) {
        for (const RemoteAddr at : code->variables) ranges.push_back({at, sizeof(std::uint64_t)});
      }
    }
    for (const Place place : {Place::Initialised, Place::Zeroed}) {
      std::vector<Symbol> here;
      std::copy_if(symbols.begin(), symbols.end(), std::back_inserter(here),
                   [&](const Symbol& symbol) { return place_of(module, symbol.address) == place; });
      if (const Range range = range_of_own(here); range.bytes != 0) ranges.push_back(range);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace heapattach::boehm
