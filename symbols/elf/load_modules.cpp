#include <algorithm>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "attach/arch/processors.h"
#include "attach/base/page.h"
#include "symbols/elf/core_modules.h"
#include "symbols/elf/module_contents.h"
#include "symbols/elf/module_files.h"
#include "symbols/elf/vdso.h"

// From mappings to modules. An opened file counts only if its build id is that in the target's
// memory. Each worker costs a millisecond or two, so one reads the files of all modules, and
// another their debug files. That is only for files that come from the target's own mappings or
// from a directory of debug files; any other might be a stranger's, and is read alone.

namespace heapattach {

namespace {

constexpr std::uint64_t kMostNoteBytes = 1 << 16;

ProgramSigns signs_of(const Process& process) {
  ProgramSigns signs;
  if (auto auxv = process.read_file("auxv")) signs.auxv = std::move(auxv).value();
  if (auto link = process.read_link("exe")) signs.path = std::move(link).value();
  return signs;
}

// A module that is being loaded.
struct Loading {
  MappedFile mapped;  // empty: the vDSO
  std::uint64_t page_bytes = kLeastPageBytes;
  std::unique_ptr<Module::Contents> contents = std::make_unique<Module::Contents>();
  bool is_other = false;                         // as in ModuleFiles::Opened
  std::vector<DebugCandidate> debug_candidates;  // not tried yet, best last

  void note(std::string_view what, const Error& error) {
    contents->notes.push_back(fmt::format("{}: {}", what, error.message()));
  }
};

// A file to read for a module.
struct Wanted {
  Loading* module;
  DebugCandidate as_debug_file{};  // of a debug file
};

// Files to read.
class Batch {
 public:
  void add(Wanted one, Fd file, bool is_alone) {
    Part& part = is_alone ? alone_ : together_;
    part.wanted.push_back(std::move(one));
    part.files.push_back(std::move(file));
  }
  [[nodiscard]] bool empty() const { return together_.files.empty() && alone_.files.empty(); }

  // Reads all files, and calls use(Wanted, Result<ElfFile>) for each.
  template <class Use>
  void read(const Deadline& deadline, const Use& use) {
    std::vector<Result<ElfFile>> read = ElfFile::open_all(std::move(together_.files), deadline);
    for (std::size_t i = 0; i < read.size(); ++i) use(together_.wanted[i], std::move(read[i]));
    for (std::size_t i = 0; i < alone_.files.size(); ++i) {
      use(alone_.wanted[i],
          ElfFile::open(std::move(alone_.files[i]), ElfFile::With::Symbols, deadline));
    }
  }

 private:
  struct Part {
    std::vector<Wanted> wanted;
    std::vector<Fd> files;  // parallel
  };
  Part together_;
  Part alone_;
};

Result<std::uint64_t> bias_of(const ElfFile& elf,
                              const MappedFile& mapped,
                              std::uint64_t page_bytes) {
  for (const LoadSegment& segment : elf.segments()) {
    const std::uint64_t page_offset = segment.file_offset & ~(page_bytes - 1);
    for (const Mapping* m : mapped) {
      if (m->file_offset != page_offset || segment.file_bytes == 0) continue;
      return m->range.start.value - (segment.address & ~(page_bytes - 1));
    }
  }
  return Error{ErrorKind::Malformed, "cannot match the file's segments to the mappings"};
}

void note_problem(Module::Contents& contents, const ElfFile& file) {
  if (file.symbols_problem().empty()) return;
  contents.notes.push_back("no symbols: " + file.symbols_problem());
}

// Loads the modules of one target.
class Loader {
 public:
  Loader(ModuleFiles files,
         const MemoryReader& memory,
         const SymbolSearch& search,
         const Deadline& deadline,
         std::uint16_t machine = kOwnProcessor)
      : files_(std::move(files)),
        memory_(memory),
        search_(search),
        deadline_(deadline),
        machine_(machine) {}

  // Loads all modules, the main program first.
  [[nodiscard]] Result<std::vector<Module>> load(const MemoryMap& map) const {
    std::vector<Loading> loading = HA_TRY(read_files(map));
    HA_TRY(read_debug_files(loading));
    HA_TRY(ask_server(loading));
    std::vector<Module> modules;
    for (Loading& one : loading) {
      HA_TRY(deadline_.check("reading the modules"));
      Module::Contents& contents = *one.contents;
      if (contents.file) complete(contents);
      if (contents.segments.empty()) show_mappings(one);
      modules.emplace_back(std::move(one.contents));
    }
    std::stable_partition(modules.begin(), modules.end(),
                          [](const Module& module) { return module.is_main_program(); });
    return modules;
  }

 private:
  // Modules that were loaded first come first, and the vDSO last.
  [[nodiscard]] Result<std::vector<Loading>> read_files(const MemoryMap& map) const {
    std::vector<MappedFile> mapped = mapped_code_files(map);
    auto vdso = find_vdso(memory_, map);
    std::vector<Loading> loading(mapped.size() + (vdso ? 1 : 0));
    Batch batch;
    // The kernel assigns addresses from the top down.
    for (std::size_t i = 0; i < mapped.size(); ++i) {
      HA_TRY(deadline_.check("reading the modules"));
      Loading& one = loading[i];
      one.mapped = std::move(mapped[mapped.size() - 1 - i]);
      one.page_bytes = map.page_bytes();
      one.contents->path = one.mapped.front()->path;
      one.contents->is_main_program = files_.is_main_program(one.mapped);
      auto opened = files_.open(one.mapped);
      if (!opened) {
        one.note("no symbols", opened.error());
        continue;
      }
      one.is_other = opened->is_other;
      batch.add({&one}, std::move(opened->file), one.is_other);
    }
    if (vdso) {
      loading.back().contents->path = vdso->path;
      loading.back().contents->bias = vdso->start.value;
      batch.add({&loading.back()}, std::move(vdso->file), false);
    }
    for (Loading& one : loading) {
      const std::string& path = one.contents->path;
      one.contents->name = path.substr(path.rfind('/') + 1);
    }
    batch.read(deadline_, [this](const Wanted& wanted, Result<ElfFile> elf) {
      const auto adopted = elf ? adopt(std::move(*elf), *wanted.module) : Result<void>(elf.error());
      if (!adopted) wanted.module->note("no symbols", adopted.error());
    });
    if (vdso && !loading.back().contents->file) loading.pop_back();
    return loading;
  }

  Result<void> adopt(ElfFile elf, Loading& one) const {
    Module::Contents& contents = *one.contents;
    // An emulator maps the files of the program that it runs.
    if (elf.machine() != machine_) {
      return Error{ErrorKind::Unsupported, "it is for another processor than the process"};
    }
    if (one.is_other && elf.build_id().empty()) {
      return Error{ErrorKind::Malformed, contents.path + " was replaced since it was loaded"};
    }
    std::uint64_t bias = contents.bias;  // the vDSO is linked for address 0
    if (!one.mapped.empty()) {
      bias = HA_TRY(bias_of(elf, one.mapped, one.page_bytes));
      HA_TRY(compare_build_ids(elf, bias));
    }
    contents.adopt(std::move(elf), bias);
    return {};
  }

  // If either has none, or the target's memory cannot be read, there is nothing to compare.
  Result<void> compare_build_ids(const ElfFile& elf, std::uint64_t bias) const {
    const auto notes = elf.notes();
    if (!notes || elf.build_id().empty()) return {};
    std::vector<std::byte> bytes(std::min(notes->memory_bytes, kMostNoteBytes));
    if (!memory_.read(RemoteAddr{notes->address + bias}, bytes)) return {};
    const std::string in_memory = build_id_in_notes(bytes);
    if (in_memory == elf.build_id()) return {};
    return Error{ErrorKind::Malformed,
                 fmt::format("the file has build id {}, the target's memory {}", elf.build_id(),
                             in_memory.empty() ? "none" : in_memory)};
  }

  static bool needs_debug_file(const Loading& one) {
    const auto& file = one.contents->file;
    return file && !one.mapped.empty() && !file->has_section(".symtab") &&
           !one.contents->debug_file;
  }

  // Tries the next candidate of each module that still needs a debug file, until none is left.
  Result<void> read_debug_files(std::vector<Loading>& loading) const {
    for (Loading& one : loading) {
      if (!needs_debug_file(one)) continue;
      one.debug_candidates = debug_candidates(*one.contents->file, one.contents->path, search_);
      std::reverse(one.debug_candidates.begin(), one.debug_candidates.end());
    }
    while (true) {
      HA_TRY(deadline_.check("reading the modules"));
      Batch batch;
      for (Loading& one : loading) add_next_candidate(one, batch);
      if (batch.empty()) return {};
      batch.read(deadline_, [this](const Wanted& wanted, Result<ElfFile> debug) {
        use_debug_file(std::move(debug), wanted);
      });
    }
  }

  // Asks for the debug files that are not on this machine, the program's first.
  Result<void> ask_server(std::vector<Loading>& loading) const {
    if (!search_.server) return {};
    std::vector<Loading*> lacking;
    for (Loading& one : loading) {
      if (needs_debug_file(one) && !one.contents->build_id.empty()) lacking.push_back(&one);
    }
    if (lacking.empty()) return {};
    std::stable_partition(lacking.begin(), lacking.end(),
                          [](const Loading* one) { return one->contents->is_main_program; });
    std::vector<DebugServer::Wanted> wanted;
    for (const Loading* one : lacking) {
      wanted.push_back({one->contents->build_id, one->contents->name});
    }
    std::vector<DebugServer::Found> found = search_.server->find(wanted, deadline_);
    HA_TRY(deadline_.check("asking for debug files"));
    Batch batch;
    for (std::size_t i = 0; i < std::min(found.size(), lacking.size()); ++i) {
      if (found[i].file.empty()) continue;
      batch.add({lacking[i], {.path = found[i].path, .crc = {}}}, std::move(found[i].file), true);
    }
    batch.read(deadline_, [this](const Wanted& one, Result<ElfFile> debug) {
      use_debug_file(std::move(debug), one);
      const Module::Contents& contents = *one.module->contents;
      if (contents.debug_file) return;
      search_.server->reject({contents.build_id, contents.name}, contents.notes.back());
    });
    return {};
  }

  void add_next_candidate(Loading& one, Batch& batch) const {
    while (!one.debug_candidates.empty()) {
      DebugCandidate candidate = std::move(one.debug_candidates.back());
      one.debug_candidates.pop_back();
      auto file = candidate.in_target ? files_.open_in_root(candidate.path)
                                      : Fd::open(candidate.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
      if (!file) continue;
      const bool is_alone = candidate.is_beside_module;
      batch.add({&one, std::move(candidate)}, std::move(*file), is_alone);
      return;
    }
  }

  void use_debug_file(Result<ElfFile> debug, const Wanted& wanted) const {
    Module::Contents& contents = *wanted.module->contents;
    const DebugCandidate& candidate = wanted.as_debug_file;
    const auto checked = debug
                             ? check_debug_file(*debug, contents.build_id, candidate.crc, deadline_)
                             : Result<void>(debug.error());
    if (!checked) {
      wanted.module->note(candidate.path + " not used", checked.error());
      return;
    }
    contents.debug_file = std::move(*debug);
    contents.debug_path = candidate.path;
    contents.notes.push_back("symbols from " + candidate.path);
    wanted.module->debug_candidates.clear();
  }

  void complete(Module::Contents& contents) const {
    note_problem(contents, *contents.file);
    if (contents.debug_file) note_problem(contents, *contents.debug_file);
    // Split units find their addresses in .debug_addr.
    const ElfFile& debug = contents.debug_file ? *contents.debug_file : *contents.file;
    const bool may_have_companions = debug.has_section(".debug_addr") ||
                                     debug.has_section(".zdebug_addr") ||
                                     debug.has_section(".gnu_debugaltlink");
    if (!may_have_companions) return;
    const CompanionSearch search{
        .path = contents.path,
        .debug_path = contents.debug_path,
        .debug_dirs = search_.debug_dirs,
        .open_in_target = [this](const std::string& path) { return files_.open_in_root(path); },
        .deadline = deadline_,
        .server = search_.server.get()};
    Companions found = find_companions(debug.file(), search);
    contents.companions = std::move(found.files);
    contents.notes.insert(contents.notes.end(), found.notes.begin(), found.notes.end());
  }

  // Uses the mappings of a module whose file is missing.
  static void show_mappings(Loading& one) {
    if (one.mapped.empty()) return;
    // Assumes that the first byte of the file is loaded at 0, as in most files.
    const Mapping& first = *one.mapped.front();
    one.contents->bias = first.range.start.value - first.file_offset;
    for (const Mapping* m : one.mapped) {
      one.contents->segments.push_back({m->range, m->writable, m->executable});
    }
  }

  ModuleFiles files_;
  const MemoryReader& memory_;
  const SymbolSearch& search_;
  const Deadline& deadline_;
  std::uint16_t machine_;  // the processor
};

}  // namespace

Result<Modules> Modules::load(const Process& process,
                              const MemoryReader& memory,
                              const MemoryMap& map,
                              const SymbolSearch& search,
                              const Deadline& deadline) {
  const Loader loader({&process, signs_of(process), search}, memory, search, deadline);
  return Modules(HA_TRY(loader.load(map)));
}

Result<Modules> load_modules(CoreFile& core, const SymbolSearch& search, const Deadline& deadline) {
  const Loader loader({nullptr, {core.auxv(), core.program()}, search}, core, search, deadline,
                      core.machine());
  Modules modules(HA_TRY(loader.load(core.map())));
  for (const Mapping& mapping : core.map().mappings()) {
    // Modified memory is in the core file, or lost.
    if (mapping.is_anonymous() || mapping.writable) continue;
    const Module* const module = modules.find(mapping.range.start);
    if (module == nullptr || module->file().empty() || module->path() != mapping.path) continue;
    HA_TRY(core.lend(mapping.range, module->file(), mapping.file_offset));
  }
  return modules;
}

const Module* Modules::find(RemoteAddr at) const {
  const auto found = std::find_if(modules_.begin(), modules_.end(),
                                  [at](const Module& module) { return module.contains(at); });
  return found == modules_.end() ? nullptr : &*found;
}

const Module* Modules::main_program() const {
  const auto found = std::find_if(modules_.begin(), modules_.end(),
                                  [](const Module& module) { return module.is_main_program(); });
  return found == modules_.end() ? nullptr : &*found;
}

std::optional<Symbol> Modules::find_symbol(std::string_view name) const {
  for (const Module& module : modules_) {
    if (auto symbol = module.find_symbol(name)) return symbol;
  }
  return std::nullopt;
}

}  // namespace heapattach
