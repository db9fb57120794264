#include "symbols/dwarf/dwarf_types.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "attach/sandbox/sandbox.h"
#include "symbols/dwarf/type_cache.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/file_share.h"
#include "symbols/elf/module_contents.h"
#include "symbols/types/model_bytes.h"
#include "symbols/types/model_checks.h"

namespace heapattach::types {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kLeftOut = "left out because of a limit";
constexpr std::uint64_t kMostOutput = std::uint64_t{256} << 20;

// The input for one module's types.
struct Source {
  const Fd& file;
  std::span<const Companion> companions;
  bool has_information = false;
  std::uint64_t bias = 0;
  const TypeCache::Entry* entry = nullptr;  // null: its types are not kept
};

std::string summary_of(const DwarfReader::Counts& counts, const TypeModel& model) {
  std::string text = fmt::format("{} units, {} types, {} global variables", counts.units,
                                 model.types().size(), model.globals.size());
  const auto add = [&text](std::size_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(counts.repeated, "repeated");
  add(counts.no_place, "members left out because their offset is unknown");
  add(counts.too_deep, "units nested too deep");
  add(counts.left_out, kLeftOut);
  return text;
}

// Runs in the sandbox.
TypeModel parse(const Source& source, const DwarfReadLimits& limits) {
  TypeModel model;
  DebugInformation information(source.file.get(), source.companions);
  if (information.main() == nullptr) {
    model.notes.push_back(fmt::format("no debug information: {}", dwarf_errmsg(-1)));
    return model;
  }
  DwarfReader reader(information, limits, model);
  reader.read();
  model.notes = information.notes();
  model.notes.push_back(summary_of(reader.counts(), model));
  return model;
}

// With the addresses of globals as linked.
Result<TypeModel> parse_in_sandbox(const Source& source, const TypeOptions& options) {
  SandboxLimits limits;
  limits.time = options.time_per_module;
  limits.deadline = options.deadline;
  std::uint64_t file_bytes = stored_bytes(source.file);
  for (const Companion& companion : source.companions) {
    file_bytes += companion.file.bytes().size();
  }
  limits.memory_bytes = memory_to_read(file_bytes);
  limits.output_bytes = kMostOutput;
  limits.descriptors = {source.file.get()};
  const SandboxResult result = HA_TRY(run_sandboxed(
      [&](SandboxOutput& out) { out.write(to_bytes(parse(source, options.limits))); }, limits));
  TypeModel model = HA_TRY(model_from_bytes(result.output));
  model.notes.insert(model.notes.end(), result.notes.begin(), result.notes.end());
  const bool is_whole =
      std::find(model.notes.begin(), model.notes.end(), kNotReadToItsEnd) == model.notes.end();
  if (source.entry != nullptr && is_whole) {
    const auto kept = options.cache->store(*source.entry, result.output);
    model.notes.push_back(kept ? "kept in the cache" : "not kept: " + kept.error().message());
  }
  return model;
}

// Loads the types that an earlier run kept; none if there are none, with a note if they cannot be
// used.
std::optional<TypeModel> load(const Source& source, const TypeOptions& options, std::string& note) {
  if (source.entry == nullptr) return std::nullopt;
  auto kept = options.cache->load(*source.entry);
  if (!kept) note = kept.error().message();
  if (!kept || !*kept) return std::nullopt;
  note = "from the cache";
  return std::move(*kept);
}

void warn_of_limits(const TypeModel& model, const TypeOptions& options) {
  const bool is_cut =
      std::any_of(model.notes.begin(), model.notes.end(),
                  [](const std::string& note) { return note.find(kLeftOut) != std::string::npos; });
  if (!is_cut || !options.warn) return;
  options.warn(fmt::format(
      "not all of its types were read: there may be {} types, {} members and {} variables",
      options.limits.types, options.limits.members, options.limits.globals));
}

// For a file that is no module's.
bool has_debug_information(const Fd& file, const TypeOptions& options) {
  if (file.empty()) return false;
  if (!options.use_sandbox) {
    const auto facts = parse_elf(file, false);
    const auto is_it = [](std::string_view section) {
      return section == ".debug_info" || section == ".zdebug_info";
    };
    return facts && std::any_of(facts->sections.begin(), facts->sections.end(), is_it);
  }
  Fd copy(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.empty()) return false;
  const auto elf = ElfFile::open(std::move(copy), ElfFile::With::Headers, options.deadline);
  return elf && elf->has_debug_information();
}

TypeModel read_or_load(const Source& source, const TypeOptions& options) {
  const auto start = Clock::now();
  TypeModel model;
  std::string note;
  auto kept = load(source, options, note);
  if (!kept && !source.has_information) {
    model.notes.emplace_back("no debug information");
    return model;
  }
  auto parsed = kept                  ? Result<TypeModel>(std::move(*kept))
                : options.use_sandbox ? parse_in_sandbox(source, options)
                                      : Result<TypeModel>(parse(source, options.limits));
  if (!parsed) {
    model.notes.push_back("no types: " + parsed.error().message());
    if (options.warn) options.warn("none of its types were read: " + parsed.error().message());
    return model;
  }
  model = std::move(parsed).value();
  for (Variable& global : model.globals) global.address.value += source.bias;
  if (!note.empty()) model.notes.push_back(std::move(note));
  warn_of_limits(model, options);
  make_sound(model);
  for (TypeRef at = 0; at < model.types().size(); ++at) model[at].known_from = {"dwarf"};
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  model.notes.push_back(fmt::format("read in {} ms", took.count()));
  return model;
}

std::optional<TypeCache::Entry> entry_of(const Module& module, const TypeOptions& options) {
  if (options.cache == nullptr) return std::nullopt;
  const DwarfReadLimits& most = options.limits;
  return options.cache->entry_of(
      module, fmt::format("{} {} {} {} {}", most.types, most.members_of_one, most.members,
                          most.globals, most.disagreements));
}

}  // namespace

TypeModel read_types_of(const Fd& file,
                        std::uint64_t bias,
                        const TypeOptions& options,
                        std::span<const Companion> companions) {
  return read_or_load({.file = file,
                       .companions = companions,
                       .has_information = has_debug_information(file, options),
                       .bias = bias},
                      options);
}

// Only in the directories where a system keeps them: a program's own libutil.so is a different one.
bool is_of_c_library(std::string_view path) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "ld",     "libc",   "libm",      "libmvec",      "libpthread",
      "libdl",  "librt",  "libresolv", "libutil",      "libcrypt",
      "libanl", "libnsl", "libgcc_s",  "libthread_db", "libBrokenLocale"};
  if (!path.starts_with("/lib") && !path.starts_with("/usr/lib")) return false;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view begin : {"libnss_", "ld-musl-", "ld-linux-"}) {
    if (name.starts_with(begin)) return true;
  }
  // "libc.so.6", "libc-2.31.so"
  const std::string_view plain = name.substr(0, name.find(".so"));
  const std::size_t version = plain.find("-2.");
  return name.size() > plain.size() &&
         std::find(kNames.begin(), kNames.end(), plain.substr(0, version)) != kNames.end();
}

bool is_without_types(const Module& module) {
  return !module.is_main_program() && is_of_c_library(module.path());
}

namespace {

std::chrono::milliseconds time_for_one(const TypeOptions& options) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(options.until - Clock::now());
  return std::clamp(left, std::chrono::milliseconds(1), options.time_per_module);
}

}  // namespace

TypeModel read_types(const Modules& modules, const TypeOptions& options) {
  TypeModel all;
  std::size_t too_late = 0;
  std::string left_out;
  for (const Module& module : modules.all()) {
    if (is_without_types(module)) {
      left_out += (left_out.empty() ? "" : ", ") + module.name();
      continue;
    }
    if (Clock::now() >= options.until) {
      if (Module::Contents::has_debug_information(module)) ++too_late;
      continue;
    }
    TypeOptions how = options;
    how.time_per_module = time_for_one(options);
    if (options.warn) {
      how.warn = [&](std::string_view what) {
        options.warn(fmt::format("{}: {}", module.path(), what));
      };
    }
    const auto entry = entry_of(module, options);
    TypeModel model =
        read_or_load({.file = module.debug_file(),
                      .companions = module.companions(),
                      .has_information = Module::Contents::has_debug_information(module),
                      .bias = module.bias(),
                      .entry = entry ? &*entry : nullptr},
                     how);
    std::erase_if(model.globals, [&](const Variable& v) { return !module.contains(v.address); });
    for (std::string& note : model.notes) note = fmt::format("{}: {}", module.path(), note);
    merge(all, model);
  }
  if (!left_out.empty()) {
    all.notes.push_back(
        "types of the C library not read, because it never allocates on a collected heap: " +
        left_out);
  }
  if (too_late > 0) {
    const std::string note = fmt::format(
        "the types of {} modules were not read, to leave time for the report", too_late);
    if (options.warn) options.warn(note);
    all.notes.push_back(note);
  }
  make_sound(all);
  return all;
}

}  // namespace heapattach::types
