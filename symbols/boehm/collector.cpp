#include "symbols/boehm/collector.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "symbols/boehm/accessors.h"
#include "symbols/boehm/check_layout.h"
#include "symbols/boehm/debug_layout.h"
#include "symbols/boehm/displacements.h"
#include "symbols/boehm/known_release.h"
#include "symbols/boehm/structure_search.h"
#include "symbols/code/disassembler.h"

namespace heapattach::boehm {

namespace {

// All symbols of a module that may belong to the collector.
class CollectorSymbols {
 public:
  explicit CollectorSymbols(const Module& module) {
    for (const Symbol& symbol : module.symbols_with_prefix("GC_")) {
      Symbol& known = by_name_[symbol.name];
      if (known.bytes == 0) known = symbol;
    }
  }

  [[nodiscard]] std::optional<RemoteAddr> find(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second.address;
  }
  // The range of a variable, if the symbol has its size.
  [[nodiscard]] std::optional<Range> range(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || found->second.bytes == 0) return std::nullopt;
    const Range range{found->second.address, found->second.bytes};
    if (range.end() < range.start) return std::nullopt;
    return range;
  }
  [[nodiscard]] bool are_the_collectors() const {
    return find("GC_size") || find("GC_arrays") || find("GC_get_kind_and_size");
  }

 private:
  std::map<std::string_view, Symbol> by_name_;
};

std::string version_text(std::uint64_t version) {
  const std::uint64_t major = version >> 16;
  const std::uint64_t minor = version >> 8 & 0xff;
  const std::uint64_t micro = version & 0xff;
  if (major == 0 || major > 99) return {};
  // Releases before 7.3 had no third number; 0xff took its place.
  if (micro == 0xff) return fmt::format("{}.{}", major, minor);
  return fmt::format("{}.{}.{}", major, minor, micro);
}

// Learns everything about the collector in one module.
class Finder {
 public:
  Finder(const Modules& modules,
         const Module& module,
         const CollectorSymbols& symbols,
         const MemoryReader& memory,
         const Disassembler& disassembler)
      : modules_(modules),
        module_(module),
        symbols_(symbols),
        memory_(memory),
        source_(code_of(module, memory)),
        reader_(disassembler, source_) {
    collector_.module = module.name();
  }

  Result<Collector> find(const MemoryMap& map, const Deadline& deadline) {
    HA_TRY(learn_layout(map, deadline));
    read_version();
    read_counters();
    read_activity();
    read_variables();
    exclude_tables();
    return std::move(collector_);
  }

 private:
  void note(std::string text) { collector_.notes.push_back(std::move(text)); }

  // The sources, most trusted first: the code of the very library in the target, its debug
  // information, and finally the shape of its data.
  Result<void> learn_layout(const MemoryMap& map, const Deadline& deadline) {
    auto first = try_layout(layout_from_accessors(), map, "its accessor functions");
    if (first || is_final(first.error())) return first;
    note(first.error().message());
    if (try_layout(layout_from_debug_info(deadline), map, "debug information") ||
        try_layout(search_structure(module_, memory_, map), map, "the shape of its index")) {
      return {};
    }
    if (!has_no_heap()) return first;
    note("its collector has no heap yet");
    return {};
  }

  // Then its index does not matter.
  [[nodiscard]] bool has_no_heap() {
    const auto heap = counter("GC_get_heap_size");
    const auto bytes = heap ? memory_.read_as<std::uint64_t>(heap->variable)
                            : Result<std::uint64_t>(Error{ErrorKind::Unsupported, ""});
    return bytes && *bytes == 0;
  }

  // A missing process is final, whatever the layout.
  static bool is_final(const Error& error) { return error.kind == ErrorKind::Gone; }

  Result<void> try_layout(Result<Layout> layout, const MemoryMap& map, std::string_view source) {
    const std::string doing =
        fmt::format("learning the layout of the collector's data from {}", source);
    if (!layout) return std::move(layout.error()).context(doing);
    auto fit = check_layout(*layout, memory_, map);
    if (!fit) return std::move(fit.error()).context(doing);
    collector_.layout = *layout;
    note(
        fmt::format("learned the layout of the collector's data from {}; {} of {} blocks that "
                    "were checked agree with it",
                    source, fit->headers - fit->misfits, fit->headers));
    return {};
  }

  Result<Layout> layout_from_accessors() {
    const auto size = symbols_.find("GC_size");
    if (!size) return Error{ErrorKind::Malformed, "there is no GC_size"};
    const auto kind_and_size = symbols_.find("GC_get_kind_and_size");
    const auto learned = HA_TRY(reader_.read_layout(*size, kind_and_size));
    Layout layout = learned.layout;
    layout.source = Layout::Source::Accessors;
    return complete(layout, learned.all_nils, learned.all_nils_is_variable);
  }

  Result<Layout> layout_from_debug_info(const Deadline& deadline) {
    const auto arrays = symbols_.find("GC_arrays");
    if (!arrays) return Error{ErrorKind::Malformed, "there is no GC_arrays"};
    const DebugLayout found = HA_TRY(read_debug_layout(module_.debug_file(), deadline));
    Layout layout = found.layout;
    layout.top_index = *arrays + found.top_index;
    if (found.all_nils) return complete(layout, *arrays + *found.all_nils, true);
    const auto variable = symbols_.find("GC_all_nils");
    if (!variable) return Error{ErrorKind::Malformed, "there is no GC_all_nils"};
    return complete(layout, *variable, true);
  }

  // Adds what only live memory shows.
  Result<Layout> complete(Layout layout, RemoteAddr all_nils, bool is_variable) {
    if (is_variable) all_nils = RemoteAddr{HA_TRY(memory_.read_as<std::uint64_t>(all_nils))};
    // It and the top index are 0 until the collector is initialised.
    layout.all_nils = all_nils;
    layout.header_block = HA_TRY(find_block_field(layout, memory_));
    return layout;
  }

  void read_version() {
    std::optional<std::uint64_t> version;
    if (const auto function = symbols_.find("GC_get_version")) {
      version = reader_.read_constant(*function);
    }
    const auto variable = symbols_.find("GC_version");
    if (!version && variable) {
      if (const auto value = memory_.read_as<std::uint32_t>(*variable)) version = *value;
    }
    if (version) collector_.version = version_text(*version);
  }

  void read_counters() {
    const auto heap = counter("GC_get_heap_size");
    const auto free = counter("GC_get_free_bytes");
    const auto unmapped = counter("GC_get_unmapped_bytes");
    const auto collections = counter("GC_get_gc_no");
    if (heap) collector_.heap_bytes = heap->variable;
    if (free) collector_.large_free_bytes = free->variable;
    if (unmapped) collector_.unmapped_bytes = unmapped->variable;
    if (collections) collector_.collections = collections->variable;
    if (!collector_.unmapped_bytes && heap) collector_.unmapped_bytes = heap->less;
    if (!collector_.collections) collector_.collections = symbols_.find("GC_gc_no");
    if (!heap) {
      note(
          "the size of the heap is not checked: GC_get_heap_size is missing or has an unknown "
          "form");
    }
  }

  std::optional<AccessorReader::Difference> counter(std::string_view function) {
    const auto address = symbols_.find(function);
    if (!address) return std::nullopt;
    return reader_.read_counter(*address);
  }

  void read_activity() {
    for (const auto* const name : {"GC_collect_a_little", "GC_collection_in_progress"}) {
      const auto function = symbols_.find(name);
      if (!function) continue;
      const auto activity = reader_.read_activity(*function);
      if (!collector_.collecting) collector_.collecting = activity.collecting;
      if (!collector_.mark_state) collector_.mark_state = activity.mark_state;
    }
    if (!collector_.collecting) collector_.collecting = symbols_.find("GC_collecting");
  }

  void read_variables() {
    // The program may have its own copy of an exported variable (a copy relocation). That copy
    // counts: it comes first in the dynamic linker's order.
    if (symbols_.find("GC_stackbottom")) {
      collector_.stack_bottom = modules_.find_symbol("GC_stackbottom")->address;
    }
    if (symbols_.find("GC_no_dls")) {
      collector_.no_dls = modules_.find_symbol("GC_no_dls")->address;
    } else if (const auto told = counter("GC_get_no_dls")) {
      collector_.no_dls = told->variable;
    }
    if (const auto setter = symbols_.find("GC_register_has_static_roots_callback")) {
      collector_.roots_filter = reader_.read_setter(*setter);
    }
    const auto mode = counter("GC_is_incremental_mode");
    if (mode) collector_.incremental = mode->variable;
    const auto allocated = counter("GC_get_bytes_since_gc");
    if (allocated) collector_.allocated = allocated->variable;
    auto interior = symbols_.find("GC_all_interior_pointers");
    const auto told = counter("GC_get_all_interior_pointers");
    if (told) interior = told->variable;
    if (!interior) return;
    if (const auto value = memory_.read_as<std::uint32_t>(*interior)) {
      collector_.layout.all_interior_pointers = *value != 0;
    }
    if (!collector_.layout.all_interior_pointers) read_displacements();
  }

  // Only then, because it means following much code.
  void read_displacements() {
    for (const auto* const name : {"GC_register_displacement_inner", "GC_register_displacement"}) {
      const auto function = symbols_.find(name);
      if (function) collector_.displacements = reader_.read_flag_table(*function);
      if (collector_.displacements) return;
    }
  }

  // misc.c, GC_init(): GC_arrays and GC_obj_kinds are excluded from the roots.
  void exclude_tables() {
    auto arrays = symbols_.range("GC_arrays");
    if (!arrays) {
      if (const auto found = find_arrays(collector_.layout, memory_)) arrays = found->range;
      note("there is no symbol GC_arrays: its extent was inferred from the list of blocks");
    }
    if (!arrays) return;
    collector_.excluded.push_back(*arrays);
    if (!collector_.layout.all_interior_pointers && !collector_.displacements) {
      const auto found = search_displacements(*arrays, collector_.layout, memory_);
      if (found) collector_.displacements = found->at;
    }
    collector_.kinds = symbols_.range("GC_obj_kinds");
    if (!collector_.kinds) collector_.kinds = search_kinds(module_, memory_, *arrays);
    if (collector_.kinds) collector_.excluded.push_back(*collector_.kinds);
  }

  const Modules& modules_;
  const Module& module_;
  const CollectorSymbols& symbols_;
  const MemoryReader& memory_;
  CodeSource source_;
  AccessorReader reader_;
  Collector collector_;
};

// Modules, the most likely first: those called libgc, the program, others.
std::vector<const Module*> likely_modules(const Modules& modules) {
  std::vector<const Module*> ordered;
  for (const Module& module : modules.all()) ordered.push_back(&module);
  std::stable_partition(ordered.begin(), ordered.end(), [](const Module* module) {
    return module->name().starts_with("libgc.") || module->name().starts_with("libgc-");
  });
  return ordered;
}

// The part of a module's data that ends at `end`: how far GC_arrays extends downwards is uncertain.
Range data_before(const Module& module, RemoteAddr end) {
  for (const Segment& segment : module.segments()) {
    if (segment.range.start < end && end <= segment.range.end()) {
      return {segment.range.start, end - segment.range.start};
    }
  }
  return {end, 0};
}

// A collector without symbols.
Result<Collector> find_by_structure(const Modules& modules,
                                    const MemoryReader& memory,
                                    const MemoryMap& map) {
  for (const Module* module : likely_modules(modules)) {
    auto layout = search_structure(*module, memory, map);
    if (!layout && layout.error().kind == ErrorKind::Malformed) return std::move(layout).error();
    if (!layout) continue;
    Collector collector;
    collector.module = module->name();
    collector.layout = *layout;
    collector.notes.push_back(
        "the collector has no symbols: its list of blocks was found by shape");
    const auto arrays = find_arrays(*layout, memory);
    const RemoteAddr end = layout->top_index + (layout->top_mask + 1) * sizeof(std::uint64_t);
    if (arrays) collector.excluded.push_back(arrays->range);
    collector.kinds = search_kinds(*module, memory, arrays ? arrays->range : Range{end, 0});
    if (const auto found = search_displacements(data_before(*module, end), *layout, memory)) {
      collector.displacements = found->at;
      collector.layout.all_interior_pointers = found->has_all;
    }
    if (collector.kinds) collector.excluded.push_back(*collector.kinds);
    if (arrays && arrays->is_known_release) {
      const KnownRelease release;
      const RemoteAddr start = arrays->range.start;
      collector.heap_bytes = start + release.heap_bytes;
      collector.large_free_bytes = start + release.large_free_bytes;
      collector.unmapped_bytes = start + release.unmapped_bytes;
      collector.mark_state = start + release.mark_state;
      collector.notes.push_back("its counters were read from where release 8.2.2 keeps them");
    }
    return collector;
  }
  return Error{ErrorKind::Unsupported,
               fmt::format("no collector found: none of {} modules defines GC_size or GC_arrays, "
                           "and none has a collector's list of blocks in its data",
                           modules.all().size())};
}

template <class T>
std::optional<T> read_value(const MemoryReader& memory, std::optional<RemoteAddr> at) {
  if (!at) return std::nullopt;
  const auto value = memory.read_as<T>(*at);
  if (!value) return std::nullopt;
  return *value;
}

}  // namespace

Result<Collector> find_collector(const Modules& modules,
                                 const MemoryReader& memory,
                                 const MemoryMap& map,
                                 const Deadline& deadline) {
  for (const Module* module : likely_modules(modules)) {
    const CollectorSymbols symbols(*module);
    if (!symbols.are_the_collectors()) continue;
    const Disassembler disassembler = HA_TRY(Disassembler::open(module->machine()));
    auto found = Finder(modules, *module, symbols, memory, disassembler).find(map, deadline);
    if (found) return found;
    return std::move(found.error()).context(module->path());
  }
  return find_by_structure(modules, memory, map);
}

heap::Counters read_counters(const Collector& collector, const MemoryReader& memory) {
  heap::Counters counters;
  counters.heap_bytes = read_value<std::uint64_t>(memory, collector.heap_bytes);
  counters.free_bytes = read_value<std::uint64_t>(memory, collector.large_free_bytes);
  counters.unmapped_bytes = read_value<std::uint64_t>(memory, collector.unmapped_bytes);
  counters.collections = read_value<std::uint64_t>(memory, collector.collections);
  counters.allocated = read_value<std::uint64_t>(memory, collector.allocated);
  // An int until 8.2, a byte since; 0 or 1.
  if (const auto mode = read_value<std::uint8_t>(memory, collector.incremental)) {
    counters.incremental = *mode != 0;
  }
  const auto collecting = read_value<std::uint8_t>(memory, collector.collecting);
  const auto mark_state = read_value<std::uint32_t>(memory, collector.mark_state);
  if (collecting || mark_state) {
    counters.collecting = collecting.value_or(0) != 0 || mark_state.value_or(0) != 0;
  }
  return counters;
}

}  // namespace heapattach::boehm
