#include "report/collect/target.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attach/interrupt.h"
#include "report/collect/core_warnings.h"
#include "report/collect/growing_heap.h"
#include "report/missing_files.h"
#include "report/typing/type_labels.h"
#include "symbols/crystal/type_sources.h"
#include "symbols/cxx/virtual_bases.h"
#include "symbols/dwarf/dwarf_types.h"
#include "symbols/elf/core_modules.h"
#include "symbols/types/crystal_type_info.h"
#include "symbols/types/model_checks.h"

namespace heapattach::snapshot {

Target::Target(Process opened, Fd mem)
    : process(std::move(opened)),
      live(std::make_unique<const LiveMemory>(*process, std::move(mem))),
      memory(*live) {}
Target::Target(std::unique_ptr<CoreFile> opened) : core(std::move(opened)), memory(*core) {}

namespace {

void note(const TakeOptions& options, std::string_view text) {
  if (options.note) options.note(text);
}

// For a core file, another warning covers this.
void warn_of_names(const TakeOptions& options, const Target& target) {
  if (!options.warn || target.core) return;
  for (const Module& module : target.modules.all()) {
    const std::string why = why_without_names(module);
    if (!why.empty()) options.warn("warning: " + why);
  }
}

Result<void> find_heap(const TakeOptions& options, Target& target) {
  target.modules = HA_TRY(
      target.core ? load_modules(*target.core, options.symbols)
                  : Modules::load(*target.process, target.memory, target.map, options.symbols));
  const Process* const process = target.process ? &*target.process : nullptr;
  target.collector = HA_TRY(find_collector(process, target.modules, target.memory, target.map));
  for (const std::string& text : target.collector.notes) note(options, text);
  target.collector_data = boehm::collector_data(target.modules, target.collector);
  const auto tables =
      boehm::read_root_tables(target.collector, target.collector_data, target.memory);
  target.static_roots = boehm::static_roots(target.modules, target.collector, tables);
  note(options, fmt::format("{} areas and {} exclusions in the collector's tables of roots",
                            tables.areas.size(), tables.excluded.size()));
  return {};
}

// How long to search for the allocation sites of classes without a name.
constexpr std::chrono::milliseconds kLongestLabelling{5'000};

// Where the main program's code is.
std::vector<Range> code_of(const Modules& modules) {
  std::vector<Range> code;
  const Module* program = modules.main_program();
  if (program == nullptr) return code;
  for (const Segment& segment : program->segments()) {
    if (segment.executable) code.push_back(segment.range);
  }
  return code;
}

bool uses_cxx(const Modules& modules) {
  return std::any_of(modules.all().begin(), modules.all().end(), [](const Module& module) {
    return module.name().starts_with("libstdc++.so") || module.name().starts_with("libc++.so");
  });
}

// `from_file` comes from --type-info.
Result<void> find_names(const TakeOptions& options,
                        std::vector<crystal::TypeList> from_file,
                        Target& target) {
  crystal::AllocatorScan scan = HA_TRY(crystal::scan_allocators(target.modules, target.memory));
  const bool is_crystal = scan.is_crystal;
  const std::size_t functions = scan.functions;
  crystal::JoinedTypes joined = crystal::join_types(std::move(from_file), std::move(scan));
  target.classes = std::move(joined.table);
  if (!joined.refusal.empty() && options.warn) {
    options.warn("warning: " + crystal::refusal_text(options.type_info, joined.refusal));
  }
  note(options, fmt::format("{} Crystal types, {} functions of the program read",
                            target.classes.types().size(), functions));
  target.vtables.emplace(target.modules);
  note(options, fmt::format("{} C++ classes with vtables", target.vtables->names().size()));
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.deadline.at - std::chrono::steady_clock::now());
  label_types(target.modules, std::clamp(left / 4, std::chrono::milliseconds(1), kLongestLabelling),
              target.classes);
  target.naming.emplace(target.classes, *target.vtables, code_of(target.modules));
  target.runtimes = runtimes::find_runtimes(target.modules, target.memory);
  const std::string_view stranger = target.runtimes.name();
  target.runtime = is_crystal || !target.classes.empty() ? "crystal"
                   : !stranger.empty()                   ? stranger
                   : uses_cxx(target.modules)            ? "c++"
                                                         : "c";
  return {};
}

// Costs only the types at worst: what cannot be read leaves a note.
void find_types(const TakeOptions& options, Target& target) {
  types::TypeOptions how;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.deadline.at - std::chrono::steady_clock::now());
  // The other half of the time is for everything else.
  how.time_per_module = std::clamp(left / 2, std::chrono::milliseconds(1), how.time_per_module);
  how.warn = [&options](std::string_view text) {
    if (options.warn) options.warn("warning: " + std::string(text));
  };
  // What the compiler says of its own layouts comes first; names alone say nothing of them.
  const auto& classes = target.classes.types();
  const bool has_layouts = std::any_of(classes.begin(), classes.end(),
                                       [](const auto& type) { return !type.fields.empty(); });
  if (has_layouts) target.types = types::types_from_table(target.classes);
  types::merge(target.types, types::read_types(target.modules, how));
  if (cxx::place_virtual_bases(target.modules, target.memory, target.types) > 0) {
    types::make_sound(target.types);
  }
  for (const std::string& text : target.types.notes) note(options, text);
  constexpr std::size_t kShown = 20;
  const std::vector<std::string>& disagreements = target.types.disagreements;
  for (std::size_t i = 0; i < std::min(disagreements.size(), kShown); ++i) {
    note(options, disagreements[i]);
  }
  if (disagreements.size() > kShown) {
    note(options,
         fmt::format("{} more types are described in two ways", disagreements.size() - kShown));
  }
  target.rows.emplace(*target.naming, target.types);
  for (const std::string& text : target.rows->notes()) note(options, text);
  note(options, fmt::format("{} types with {} global variables", target.types.types().size(),
                            target.types.globals.size()));
}

Result<void> find_fibers(Target& target) {
  if (target.runtime != "crystal") return {};
  const auto index = HA_TRY(boehm::read_blocks(target.memory, target.map, target.collector.layout));
  target.fibers = crystal::learn_fibers(target.classes, index, target.memory, target.map);
  return {};
}

// A process that is about to exit gives up its memory before it shows as dead.
bool is_gone(const Process& process) {
  if (!process.is_alive()) return true;
  const auto map = process.maps();
  return !map || map->mappings().empty();
}

Result<void> learn_all(const TakeOptions& options,
                       std::vector<crystal::TypeList> from_file,
                       Target& target) {
  target.map = target.core ? target.core->map() : HA_TRY(target.process->maps());
  HA_TRY(find_heap(options, target));
  HA_TRY(find_names(options, std::move(from_file), target));
  find_types(options, target);
  return find_fibers(target);
}

Result<std::unique_ptr<Target>> open_target(const TakeOptions& options) {
  if (!options.core_file.empty()) {
    return std::make_unique<Target>(HA_TRY(CoreFile::open(options.core_file)));
  }
  Process process = HA_TRY(Process::open(options.pid));
  Fd mem = HA_TRY(LiveMemory::open_mem(process));
  return std::make_unique<Target>(std::move(process), std::move(mem));
}

void tell_of_core(const TakeOptions& options, const Target& target) {
  for (const std::string& text : target.core->faults()) note(options, "skipped: " + text);
  if (!options.warn) return;
  for (const std::string& text : warnings_of(*target.core, target.modules)) options.warn(text);
}

Error why_not_learned(const Target& target, Error error) {
  if (auto interrupted = check_interrupt(); !interrupted) return std::move(interrupted).error();
  // If the process exits meanwhile, parts may be missing anywhere.
  if (target.process && is_gone(*target.process)) {
    return Error{ErrorKind::Gone, fmt::format("process {} exited", target.pid())};
  }
  if (target.core) {
    for (const std::string& text : warnings_of(*target.core, target.modules)) {
      error.message += "; " + text;
    }
  }
  return error;
}

}  // namespace

Result<std::unique_ptr<Target>> Target::learn(const TakeOptions& options) {
  std::vector<crystal::TypeList> from_file;
  if (!options.type_info.empty()) {
    from_file = HA_TRY(crystal::read_type_info(options.type_info));
  }
  auto target = HA_TRY(open_target(options));
  auto learned = learn_all(options, std::move(from_file), *target);
  if (!learned) {
    Error why = why_not_learned(*target, std::move(learned).error());
    if (why.kind != ErrorKind::Gone) warn_of_names(options, *target);
    return why;
  }
  if (target->core) tell_of_core(options, *target);
  warn_of_names(options, *target);
  for (const Module& module : target->modules.all()) {
    for (const std::string& text : module.notes()) {
      note(options, fmt::format("{}: {}", module.path(), text));
    }
  }
  return target;
}

}  // namespace heapattach::snapshot
