#include "report/collect/target.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/collect/core_warnings.h"
#include "report/missing_files.h"
#include "report/typing/type_labels.h"
#include "symbols/crystal/type_sources.h"
#include "symbols/cxx/undescribed_strings.h"
#include "symbols/cxx/virtual_bases.h"
#include "symbols/dwarf/dwarf_types.h"
#include "symbols/dwarf/type_cache.h"
#include "symbols/heaps.h"
#include "symbols/nim/type_information.h"
#include "symbols/nim/variants.h"
#include "symbols/types/crystal_type_info.h"
#include "symbols/types/model_checks.h"
#include "symbols/vlang/types.h"
#include "symbols/vlang/variants.h"

namespace heapattach::snapshot {

namespace {

// Warns of modules without names. For a core file, another warning covers them.
void warn_of_names(const TakeOptions& options, const Opened& target) {
  if (target.core) return;
  for (const Module& module : target.modules.all()) {
    const std::string why = why_without_names(module);
    if (!why.empty()) options.request.warn("warning: " + why);
  }
}

// Warns if a Mono program is read like one in C. The names of Mono's own classes, by which it is
// recognised, are in the pages of its library.
void warn_of_mono(const TakeOptions& options, const Target& target) {
  const bool is_mono = target.modules.find_symbol("mono_get_root_domain").has_value();
  if (!is_mono || target.runtimes.mono || target.collected() == nullptr) return;
  options.request.warn(fmt::format(
      "warning: the classes of Mono cannot be read, so its objects have no names and some of its "
      "roots are missing: {}",
      target.core ? "a core file lacks the pages of mscorlib.dll"
                  : "mscorlib.dll was overwritten after Mono had loaded it, or Mono is still "
                    "starting, or its release is unknown"));
}

// Whether to search for another kind of heap if the process does not have this one.
bool may_look_further(const TakeOptions& options, const Opened& target) {
  if (!options.heap.is_auto()) return true;
  return !options.has_another_heap || !options.has_another_heap(target.modules, target.memory);
}

std::vector<const heap::Kind*> chosen_kinds(HeapChoice choice) {
  const auto all = heap_kinds();
  std::vector<const heap::Kind*> kinds(all.begin(), all.end());
  std::erase_if(kinds, [&](const heap::Kind* kind) {
    return kind->find == nullptr || (!choice.key.empty() && kind->key != choice.key);
  });
  return kinds;
}

// Whether a heap like this one has been found: one of a kind with the same key, or another
// collector's if this is a collector's. A process has only one of the kinds that share a key, and
// only one collector is read.
bool has_heap(const HeapFound& found, const heap::Kind& like) {
  return std::any_of(found.heaps.begin(), found.heaps.end(), [&](const auto& heap) {
    const heap::Kind& kind = heap->kind();
    return kind.key == like.key || (kind.is_collected && like.is_collected);
  });
}

// A heap that the target does not have, and why. If several kinds share the key, the reason is the
// one for the last kind.
struct MissingHeap {
  std::string_view key;
  Error error;
};

// The error if --heap both has found only one heap.
Error without(MissingHeap missing, const HeapFound& heap) {
  const bool has_collected = !heap.heaps.empty() && heap.collected() != nullptr;
  if (has_collected) return std::move(missing.error);
  return std::move(missing.error).advise("--heap malloc, if it uses malloc alone");
}

Result<HeapFound> find_heaps(const TakeOptions& options, Opened& target) {
  const std::function<void(std::string_view)> note = [&](std::string_view text) {
    options.request.note(text);
  };
  HeapFound heap;
  std::optional<MissingHeap> missing;  // the first one
  const std::vector<const heap::Kind*> kinds = chosen_kinds(options.heap);
  for (const heap::Kind* kind : kinds) {
    if (has_heap(heap, *kind)) continue;
    auto found = target.find_heap(*kind, note, options.request.deadline, !options.heap.all);
    if (found) {
      heap.heaps.push_back(std::move(*found));
      if (options.heap.is_auto()) break;
      if (kind->is_collected) missing.reset();  // another collector
      continue;
    }
    const bool is_end = kind == kinds.back() && !options.heap.all;
    if (is_end || found.error().kind != ErrorKind::Unsupported ||
        !may_look_further(options, target)) {
      return std::move(found).error();
    }
    if (options.heap.is_auto()) note(found.error().message());
    const bool is_next = missing && missing->key != kind->key;
    if (!is_next) missing = MissingHeap{kind->key, std::move(found).error()};
  }
  if (options.heap.all && heap.heaps.size() < 2) return without(std::move(*missing), heap);
  if (heap.collected() == nullptr) {
    note(fmt::format("reading the heap of {}", heap.heaps.front()->kind().name));
  }
  return heap;
}

Result<void> check_values(const TakeOptions& options, const HeapFound& found) {
  const bool are_all_texts = options.texts_only && options.text_bytes == std::string::npos;
  if (options.value_bytes == 0 && !are_all_texts) return {};
  for (const auto& heap : found.heaps) {
    if (heap->has_values()) continue;
    return Error{
        ErrorKind::Unsupported,
        fmt::format("{} objects have no texts and values with --heap both", whose(heap->kind()))}
        .advise("the same without --heap");
  }
  return {};
}

// The limit for the search for the places where classes without a name are allocated.
constexpr std::chrono::milliseconds kLongestLabelling{5'000};

// The ranges of the main program's code.
std::vector<Range> code_of(const Modules& modules) {
  std::vector<Range> code;
  const Module* program = modules.main_program();
  if (program == nullptr) return code;
  for (const Segment& segment : program->segments()) {
    if (segment.executable) code.push_back(segment.range);
  }
  return code;
}

// Reads debug information. A part that cannot be read costs only its types and leaves a note.
types::TypeModel find_types(const TakeOptions& options,
                            const Opened& target,
                            const crystal::TypeTable& classes) {
  types::TypeOptions how;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.request.deadline.at - std::chrono::steady_clock::now());
  // Reading types may take half of the remaining time; the other half is for everything else.
  how.time_per_module = std::clamp(left / 2, std::chrono::milliseconds(1), how.time_per_module);
  how.until = std::chrono::steady_clock::now() + left / 2;
  how.deadline = options.request.deadline;
  how.warn = [&options](std::string_view text) {
    options.request.warn("warning: " + std::string(text));
  };
  const auto cache = options.request.with_cache
                         ? types::TypeCache::of_user()
                         : Result<types::TypeCache>(Error{ErrorKind::Unsupported, "--no-cache"});
  if (cache) {
    how.cache = &*cache;
  } else {
    options.request.note("types are not kept: " + cache.error().message());
  }
  // The compiler's layouts come first. A list that has only names has no layouts.
  const bool has_layouts = std::any_of(classes.types().begin(), classes.types().end(),
                                       [](const auto& type) { return !type.fields.empty(); });
  types::TypeModel found = has_layouts ? types::types_from_table(classes) : types::TypeModel{};
  types::merge(found, types::read_types(target.modules, how));
  const bool has_strings = cxx::describe_strings(found);
  const bool has_bases = nim::describe_bases(found);
  const bool is_v = vlang::describe(found);
  if (is_v) vlang::find_variants(target.modules, found);
  if (cxx::place_virtual_bases(target.modules, target.memory, found) > 0 || has_strings ||
      has_bases || is_v) {
    types::make_sound(found);
  }
  return found;
}

// `from_file` comes from --type-info.
Result<NamesFound> find_names(const TakeOptions& options,
                              std::vector<crystal::TypeList> from_file,
                              const Opened& target) {
  crystal::AllocatorScan scan = HA_TRY(crystal::scan_allocators(target.modules, target.memory));
  const bool is_crystal = scan.is_crystal;
  const std::size_t functions = scan.functions;
  crystal::JoinedTypes joined = crystal::join_types(std::move(from_file), std::move(scan));
  NamesFound names;
  names.classes = std::move(joined.table);
  if (!joined.refusal.empty()) {
    options.request.warn("warning: " +
                         crystal::refusal_text(options.request.type_info, joined.refusal));
  }
  options.request.note(fmt::format("{} Crystal types, {} functions of the program read",
                                   names.classes.types().size(), functions));
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.request.deadline.at - std::chrono::steady_clock::now());
  label_types(target.modules, std::clamp(left / 4, std::chrono::milliseconds(1), kLongestLabelling),
              options.request.deadline, names.classes);
  names.runtimes = runtimes::find_runtimes(target.modules, target.memory);
  const std::string_view stranger = names.runtimes.name();
  names.runtime = is_crystal || !names.classes.empty() ? "crystal"
                  : !stranger.empty()                  ? stranger
                  : uses_cxx(target.modules)           ? "c++"
                                                       : "c";
  names.types = find_types(options, target, names.classes);
  return names;
}

// Adds the types of a Nim program without debug information, from the information on types that it
// has at run time; a program without symbols is searched for that. Debug information does not say
// which of a variant object's fields are valid, so that comes from there, too.
void add_nim_types(const Opened& target, const HeapFound& heap, NamesFound& names) {
  const bool may_be_nim = names.runtime == "c" || names.runtime == "c++";
  const bool has_debug_information = names.types.find(nim::kString) != types::kNoType;
  if (may_be_nim && has_debug_information && nim::has_variants(names.types)) {
    nim::describe_variants(names.types, nim::find_type_records(target.modules, target.memory));
    types::make_sound(names.types);
  }
  if (!may_be_nim || has_debug_information || heap.collected() == nullptr) return;
  const auto records = nim::find_type_records(target.modules, target.memory);
  if (records.empty()) return;
  names.types.notes.push_back(
      fmt::format("{} types from Nim's own type information", records.size()));
  types::merge(names.types, nim::describe_records(records, target.modules));
}

Result<crystal::FiberLayout> find_fibers(const Opened& target,
                                         const HeapFound& heap,
                                         const NamesFound& names) {
  if (names.runtime != "crystal") return crystal::FiberLayout{};
  const auto index = HA_TRY(
      heap.heaps.front()->blocks({target.modules, target.memory, target.map}, ~std::uint64_t{0}));
  return crystal::learn_fibers(names.classes, index, target.memory, target.map);
}

Result<std::unique_ptr<Target>> learn_all(const TakeOptions& options,
                                          std::vector<crystal::TypeList> from_file,
                                          Opened& opened) {
  HeapFound heap = HA_TRY(find_heaps(options, opened));
  HA_TRY(check_values(options, heap));
  NamesFound names = HA_TRY(find_names(options, std::move(from_file), opened));
  const std::string_view of_heap = heap.heaps.front()->runtime();
  if (!of_heap.empty()) names.runtime = of_heap;
  add_nim_types(opened, heap, names);
  crystal::FiberLayout fibers = HA_TRY(find_fibers(opened, heap, names));
  return std::make_unique<Target>(std::move(opened), std::move(heap), std::move(names), fibers);
}

// Reports warnings about a core file, and what -v shows about types and files.
void report_findings(const TakeOptions& options, const Target& target) {
  options.request.note(fmt::format("{} C++ classes with vtables", target.vtables.names().size()));
  for (const std::string& text : target.types.notes) options.request.note(text);
  constexpr std::size_t kShown = 20;
  const std::vector<std::string>& disagreements = target.types.disagreements;
  for (std::size_t i = 0; i < std::min(disagreements.size(), kShown); ++i) {
    options.request.note(disagreements[i]);
  }
  if (disagreements.size() > kShown) {
    options.request.note(
        fmt::format("{} more types are described in two ways", disagreements.size() - kShown));
  }
  for (const std::string& text : target.rows.notes()) options.request.note(text);
  options.request.note(fmt::format("{} types with {} global variables", target.types.types().size(),
                                   target.types.globals.size()));
  if (target.core) {
    for (const std::string& text : target.core->faults()) options.request.note("skipped: " + text);
    for (const std::string& text : warnings_of(*target.core, target.modules)) {
      options.request.warn(text);
    }
  }
  for (const Module& module : target.modules.all()) {
    for (const std::string& text : module.notes()) {
      options.request.note(fmt::format("{}: {}", module.path(), text));
    }
  }
}

}  // namespace

Target::Target(Opened opened, HeapFound heap, NamesFound names, crystal::FiberLayout fiber_layout)
    : Opened(std::move(opened)),
      HeapFound(std::move(heap)),
      NamesFound(std::move(names)),
      fibers(fiber_layout),
      vtables(modules, memory, nim::first_words(modules, types)),
      naming(classes, vtables, code_of(modules)),
      rows(naming, types) {}

Result<std::unique_ptr<Target>> Target::learn(const TakeOptions& options) {
  std::vector<crystal::TypeList> from_file;
  if (!options.request.type_info.empty()) {
    from_file =
        HA_TRY(crystal::read_type_info(options.request.type_info, options.request.deadline));
  }
  Opened opened = HA_TRY(Opened::open(options.request));
  auto target = learn_all(options, std::move(from_file), opened);
  if (!target) {
    Error why = opened.explain(std::move(target).error());
    if (why.kind != ErrorKind::Gone) warn_of_names(options, opened);
    return why;
  }
  report_findings(options, **target);
  warn_of_names(options, **target);
  warn_of_mono(options, **target);
  return target;
}

}  // namespace heapattach::snapshot
