// A mapping's file is opened in the way that is least likely to find another file: the mapping's
// own link in map_files, which also reaches deleted and replaced files (it needs a privilege), the
// program's link `exe`, and finally the path, below the target's root. For a core file's process
// there are only the paths.

#include "symbols/elf/module_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "attach/sandbox/confined.h"
#include "attach/sandbox/open_file.h"

namespace heapattach {

namespace {

bool continues(const MappedFile& file, const Mapping& mapping) {
  return file.front()->inode == mapping.inode && file.front()->device == mapping.device &&
         mapping.file_offset > file.back()->file_offset;
}

}  // namespace

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

ModuleFiles::ModuleFiles(const Process* process,
                         const ProgramSigns& signs,
                         const SymbolSearch& search)
    : process_(process), search_(search), exe_path_(signs.path) {
  auto root = search.sysroot.empty() && process != nullptr
                  ? process->open_file("root", O_PATH | O_DIRECTORY)
                  : Fd::open(search.sysroot.empty() ? "/" : search.sysroot, O_PATH | O_DIRECTORY);
  if (root) root_ = std::move(root).value();
  find_program_headers(signs.auxv);
}

void ModuleFiles::find_program_headers(const std::string& auxv) {
  for (std::size_t at = 0; at + 16 <= auxv.size(); at += 16) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, auxv.data() + at, sizeof entry);
    if (entry.a_type == AT_PHDR) program_headers_ = RemoteAddr{entry.a_un.a_val};
  }
}

bool ModuleFiles::is_main_program(const MappedFile& mapped) const {
  if (program_headers_) {
    return std::any_of(mapped.begin(), mapped.end(),
                       [&](const Mapping* m) { return m->range.contains(*program_headers_); });
  }
  const std::string& path = mapped.front()->path;
  return path == exe_path_ || path + " (deleted)" == exe_path_;
}

Result<ModuleFiles::Opened> ModuleFiles::open(const MappedFile& mapped) const {
  const Mapping& first = *mapped.front();
  const bool is_program = is_main_program(mapped);
  if (is_program && !search_.exe.empty()) {
    return Opened{HA_TRY(Fd::open(search_.exe, O_RDONLY | O_NONBLOCK | O_NOCTTY))};
  }
  if (!search_.sysroot.empty() || process_ == nullptr) {
    return Opened{HA_TRY(open_in_root(first.path))};
  }
  const std::string link =
      fmt::format("map_files/{:x}-{:x}", first.range.start.value, first.range.end().value);
  if (auto file = open_mapped(link)) return Opened{std::move(file).value()};
  if (is_program) {
    if (auto file = process_->open_file("exe", O_RDONLY)) return Opened{std::move(file).value()};
  }
  Opened opened{HA_TRY(open_in_root(first.path))};
  struct stat status {};
  if (fstat(opened.file.get(), &status) != 0) return os_error(first.path, errno);
  opened.is_other = status.st_ino != first.inode;
  return opened;
}

Result<Fd> ModuleFiles::open_in_root(const std::string& path) const {
  if (!is_confined()) return open_below(root_, path);
  return open_below_by_broker(search_.sysroot.empty() ? "/" : search_.sysroot, path);
}

// Devices can be mapped as well, and are not opened.
Result<Fd> ModuleFiles::open_mapped(const std::string& link) const {
  return reopen_if_regular(HA_TRY(process_->open_file(link, O_PATH)), link);
}

}  // namespace heapattach
