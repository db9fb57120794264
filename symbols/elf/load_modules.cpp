#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/confined.h"
#include "attach/guardian.h"
#include "attach/open_file.h"
#include "attach/x86_64.h"
#include "symbols/elf/core_modules.h"
#include "symbols/elf/module_contents.h"
#include "symbols/elf/vdso.h"

// From mappings to modules. A mapping's file is opened in the way that is least likely to find
// another file: the mapping's own link in map_files, which also reaches deleted and replaced files
// (it needs a privilege), the program's link `exe`, and finally the path, below the target's root.
// An opened file counts only if its build id is that in the target's memory. For a core file's
// process there are only the paths.

namespace heapattach {

namespace {

constexpr std::uint64_t kMostNoteBytes = 1 << 16;

// The mappings of one file at one load address, lowest first.
using MappedFile = std::vector<const Mapping*>;

bool continues(const MappedFile& file, const Mapping& mapping) {
  return file.front()->inode == mapping.inode && file.front()->device == mapping.device &&
         mapping.file_offset > file.back()->file_offset;
}

// Files with code in them. A file that is only mapped for reading (fonts, locales, an ELF file that
// some tool inspects) is not a module.
std::vector<MappedFile> mapped_code_files(const MemoryMap& map) {
  std::vector<MappedFile> files;
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.is_anonymous() || mapping.path.empty() || mapping.path.front() != '/') continue;
    if (files.empty() || !continues(files.back(), mapping)) files.emplace_back();
    files.back().push_back(&mapping);
  }
  std::erase_if(files, [](const MappedFile& file) {
    return std::none_of(file.begin(), file.end(), [](const Mapping* m) { return m->executable; });
  });
  return files;
}

Result<Fd> open_ours(const std::string& path) {
  return Fd::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

// What distinguishes the program from the libraries.
struct ProgramSigns {
  std::string auxv;  // locates its headers; without it the path decides
  std::string path;
};

ProgramSigns signs_of(const Process& process) {
  ProgramSigns signs;
  if (auto auxv = process.read_file("auxv")) signs.auxv = std::move(auxv).value();
  if (auto link = process.read_link("exe")) signs.path = std::move(link).value();
  return signs;
}

// Finds the files of one target's modules.
class Loader {
 public:
  // Without a process, files are found only by their paths.
  Loader(const Process* process,
         const ProgramSigns& signs,
         const MemoryReader& memory,
         const SymbolSearch& search)
      : process_(process), memory_(memory), search_(search), exe_path_(signs.path) {
    auto root = search.sysroot.empty() && process != nullptr
                    ? process->open_file("root", O_PATH | O_DIRECTORY)
                    : Fd::open(search.sysroot.empty() ? "/" : search.sysroot, O_PATH | O_DIRECTORY);
    if (root) root_ = std::move(root).value();
    find_program_headers(signs.auxv);
  }

  [[nodiscard]] Module load(const MappedFile& mapped) const {
    auto contents = std::make_unique<Module::Contents>();
    contents->path = mapped.front()->path;
    contents->name = contents->path.substr(contents->path.rfind('/') + 1);
    contents->is_main_program = is_main_program(mapped);
    if (auto read = read_file(mapped, *contents); !read) {
      contents->notes.push_back("no symbols: " + read.error().message());
    }
    if (contents->segments.empty()) {
      // Like most files: their first byte is loaded at 0.
      contents->bias = mapped.front()->range.start.value - mapped.front()->file_offset;
      for (const Mapping* m : mapped) {
        contents->segments.push_back({m->range, m->writable, m->executable});
      }
    }
    return Module(std::move(contents));
  }

 private:
  void find_program_headers(const std::string& auxv) {
    for (std::size_t at = 0; at + 16 <= auxv.size(); at += 16) {
      Elf64_auxv_t entry;
      std::memcpy(&entry, auxv.data() + at, sizeof entry);
      if (entry.a_type == AT_PHDR) program_headers_ = RemoteAddr{entry.a_un.a_val};
    }
  }

  [[nodiscard]] bool is_main_program(const MappedFile& mapped) const {
    if (program_headers_) {
      return std::any_of(mapped.begin(), mapped.end(),
                         [&](const Mapping* m) { return m->range.contains(*program_headers_); });
    }
    const std::string& path = mapped.front()->path;
    return path == exe_path_ || path + " (deleted)" == exe_path_;
  }

  // The ways to open the file, best first.
  Result<ElfFile> open_file(const MappedFile& mapped, const Module::Contents& contents) const {
    const Mapping& first = *mapped.front();
    if (contents.is_main_program && !search_.exe.empty()) {
      return ElfFile::open(HA_TRY(open_ours(search_.exe)));
    }
    if (!search_.sysroot.empty() || process_ == nullptr) {
      return ElfFile::open(HA_TRY(open_in_root(first.path)));
    }
    const std::string link =
        fmt::format("map_files/{:x}-{:x}", first.range.start.value, first.range.end().value);
    if (auto file = open_mapped(link)) return ElfFile::open(std::move(file).value());
    if (contents.is_main_program) {
      if (auto file = process_->open_file("exe", O_RDONLY)) {
        return ElfFile::open(std::move(file).value());
      }
    }
    Fd file = HA_TRY(open_in_root(first.path));
    struct stat status {};
    if (fstat(file.get(), &status) != 0) return os_error(first.path, errno);
    ElfFile elf = HA_TRY(ElfFile::open(std::move(file)));
    if (status.st_ino != first.inode && elf.build_id().empty()) {
      return Error{ErrorKind::Malformed, first.path + " was replaced since it was loaded"};
    }
    return elf;
  }

  [[nodiscard]] Result<Fd> open_in_root(const std::string& path) const {
    if (!is_confined()) return open_below(root_, path);
    return open_below_by_broker(search_.sysroot.empty() ? "/" : search_.sysroot, path);
  }

  // Devices can be mapped as well, and are not opened.
  [[nodiscard]] Result<Fd> open_mapped(const std::string& link) const {
    return reopen_if_regular(HA_TRY(process_->open_file(link, O_PATH)), link);
  }

  Result<void> read_file(const MappedFile& mapped, Module::Contents& contents) const {
    ElfFile elf = HA_TRY(open_file(mapped, contents));
    const std::uint64_t bias = HA_TRY(bias_of(elf, mapped));
    HA_TRY(compare_build_ids(elf, bias));
    contents.adopt(std::move(elf), bias);
    find_debug_file(contents);
    note_problem(contents, *contents.file);
    if (contents.debug_file) note_problem(contents, *contents.debug_file);
    add_companions(contents);
    return {};
  }

  static void note_problem(Module::Contents& contents, const ElfFile& file) {
    if (file.symbols_problem().empty()) return;
    contents.notes.push_back("no symbols: " + file.symbols_problem());
  }

  static Result<std::uint64_t> bias_of(const ElfFile& elf, const MappedFile& mapped) {
    for (const LoadSegment& segment : elf.segments()) {
      const std::uint64_t page_offset = segment.file_offset & ~(kPageBytes - 1);
      for (const Mapping* m : mapped) {
        if (m->file_offset != page_offset || segment.file_bytes == 0) continue;
        return m->range.start.value - (segment.address & ~(kPageBytes - 1));
      }
    }
    return Error{ErrorKind::Malformed, "none of its segments is mapped"};
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

  void find_debug_file(Module::Contents& contents) const {
    if (contents.file->has_section(".symtab")) return;
    for (const DebugCandidate& candidate :
         debug_candidates(*contents.file, contents.path, search_)) {
      auto fd = candidate.in_target ? open_in_root(candidate.path) : open_ours(candidate.path);
      if (!fd) continue;
      auto debug = ElfFile::open(std::move(fd).value());
      auto checked = debug ? check_debug_file(*debug, contents.build_id, candidate.crc)
                           : Result<void>(debug.error());
      if (!checked) {
        contents.notes.push_back(candidate.path + " not used: " + checked.error().message());
        continue;
      }
      contents.debug_file = std::move(debug).value();
      contents.debug_path = candidate.path;
      contents.notes.push_back("symbols from " + candidate.path);
      return;
    }
  }

  // Split units find their addresses in .debug_addr.
  void add_companions(Module::Contents& contents) const {
    const ElfFile& debug = contents.debug_file ? *contents.debug_file : *contents.file;
    const bool may_have_any = debug.has_section(".debug_addr") ||
                              debug.has_section(".zdebug_addr") ||
                              debug.has_section(".gnu_debugaltlink");
    if (!may_have_any) return;
    const CompanionSearch search{
        .path = contents.path,
        .debug_path = contents.debug_path,
        .debug_dirs = search_.debug_dirs,
        .open_in_target = [this](const std::string& path) { return open_in_root(path); }};
    Companions found = find_companions(debug.file(), search);
    contents.companions = std::move(found.files);
    contents.notes.insert(contents.notes.end(), found.notes.begin(), found.notes.end());
  }

  const Process* process_;  // null for a core file
  const MemoryReader& memory_;
  const SymbolSearch& search_;
  Fd root_;  // empty if it could not be opened
  std::optional<RemoteAddr> program_headers_;
  std::string exe_path_;
};

// The main program first.
Result<std::vector<Module>> load_all(const Loader& loader,
                                     const MemoryReader& memory,
                                     const MemoryMap& map) {
  std::vector<Module> modules;
  // The kernel assigns addresses from the top down, so modules that were loaded first are highest.
  const std::vector<MappedFile> files = mapped_code_files(map);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    HA_TRY(check_guarded_time("reading the modules"));
    modules.push_back(loader.load(*file));
  }
  if (auto vdso = load_vdso(memory, map)) modules.push_back(std::move(*vdso));
  std::stable_partition(modules.begin(), modules.end(),
                        [](const Module& module) { return module.is_main_program(); });
  return modules;
}

}  // namespace

Result<Modules> Modules::load(const Process& process,
                              const MemoryReader& memory,
                              const MemoryMap& map,
                              const SymbolSearch& search) {
  const Loader loader(&process, signs_of(process), memory, search);
  return Modules(HA_TRY(load_all(loader, memory, map)));
}

Result<Modules> load_modules(CoreFile& core, const SymbolSearch& search) {
  const Loader loader(nullptr, {core.auxv(), core.program()}, core, search);
  Modules modules(HA_TRY(load_all(loader, core, core.map())));
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
