// A core file is an ELF file without sections. It has a program header for each piece of memory
// (PT_LOAD) and one for the notes, which describe threads and files (core(5), fs/binfmt_elf.c in
// the kernel, gcore in gdb). If there are more headers than e_phnum can count, the single section
// header holds their number (PN_XNUM).

#include "attach/core/core_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/arch/addresses.h"
#include "attach/arch/processors.h"
#include "attach/base/page.h"
#include "attach/core/core_map.h"
#include "attach/sandbox/open_file.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kMostNoteBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostHeaders = 1 << 24;

// Reads up to `into.size()` bytes at `offset`: fewer at the end of the file.
Result<std::size_t> read_at(const Fd& file, std::uint64_t offset, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size() && offset + done <= INT64_MAX) {
    const ssize_t count = ::pread(file.get(), into.data() + done, into.size() - done,
                                  static_cast<off_t>(offset + done));
    const int failure = errno;
    if (count < 0 && failure == EINTR) continue;
    if (count < 0) return os_error("read", failure);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

template <class T>
Result<bool> read_whole(const Fd& file, std::uint64_t offset, std::span<T> into) {
  const auto bytes = std::as_writable_bytes(into);
  return HA_TRY(read_at(file, offset, bytes)) == bytes.size();
}

std::string_view kind_of(std::uint16_t type) {
  switch (type) {
    case ET_EXEC:
    case ET_DYN: return "a program or library";
    case ET_REL: return "an object file";
    default: return "an ELF file";
  }
}

}  // namespace

// Decodes the headers of one file.
class CoreLoader {
 public:
  explicit CoreLoader(CoreFile& core) : core_(core) {}

  Result<void> load() {
    struct stat status {};
    if (::fstat(core_.file_.get(), &status) != 0) return os_error("fstat", errno);
    if (!S_ISREG(status.st_mode)) return malformed("is not a regular file");
    size_ = static_cast<std::uint64_t>(status.st_size);
    core_.written_ = std::chrono::system_clock::time_point(
        std::chrono::seconds(status.st_mtim.tv_sec) +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::nanoseconds(status.st_mtim.tv_nsec)));
    const Elf64_Ehdr header = HA_TRY(read_header());
    for (const Elf64_Phdr& program : HA_TRY(read_program_headers(header))) {
      if (program.p_type == PT_LOAD) add_segment(program);
      if (program.p_type == PT_NOTE) HA_TRY(read_notes(program));
    }
    make_disjoint(segments_);
    HA_TRY(finish_threads());
    finish_memory();
    return {};
  }

 private:
  [[nodiscard]] Error malformed(std::string_view what) const {
    return {ErrorKind::Malformed, fmt::format("{} {}", core_.path_, what)};
  }
  [[nodiscard]] Error unsupported(std::string_view what) const {
    return {ErrorKind::Unsupported, fmt::format("{} is {}", core_.path_, what)};
  }
  void fault(std::string text) { core_.notes_.faults.push_back(std::move(text)); }

  Result<Elf64_Ehdr> read_header() {
    Elf64_Ehdr header{};
    const bool is_whole = HA_TRY(read_whole(core_.file_, 0, std::span(&header, 1)));
    if (!is_whole || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
      return malformed("is not an ELF file, or is cut off in its header");
    }
    const bool is_ours = header.e_ident[EI_CLASS] == ELFCLASS64 &&
                         header.e_ident[EI_DATA] == ELFDATA2LSB &&
                         is_known_processor(header.e_machine);
    if (is_ours && header.e_type != ET_CORE) {
      return malformed(fmt::format("is {}, not a core file", kind_of(header.e_type)))
          .advise("the pid of a process that runs it, or a core file");
    }
    if (!is_ours) return unsupported(kForeignFile);
    core_.notes_.machine = header.e_machine;
    return header;
  }

  Result<std::vector<Elf64_Phdr>> read_program_headers(const Elf64_Ehdr& header) {
    std::uint64_t count = header.e_phnum;
    if (count == PN_XNUM && header.e_shoff != 0) {
      Elf64_Shdr section{};
      const bool is_whole = HA_TRY(read_whole(core_.file_, header.e_shoff, std::span(&section, 1)));
      if (is_whole) count = section.sh_info;
    }
    const bool is_inside = header.e_phoff <= size_ &&
                           count <= (size_ - header.e_phoff) / sizeof(Elf64_Phdr) &&
                           count <= kMostHeaders;
    if (!is_inside || (count != 0 && header.e_phentsize != sizeof(Elf64_Phdr))) {
      return malformed("is a core file that is cut off in its list of memory");
    }
    std::vector<Elf64_Phdr> headers(count);
    const bool is_whole =
        HA_TRY(read_whole(core_.file_, header.e_phoff, std::span<Elf64_Phdr>(headers)));
    if (!is_whole) return malformed("is a core file that is cut off in its list of memory");
    return headers;
  }

  void add_segment(const Elf64_Phdr& program) {
    const std::uint64_t start = program.p_vaddr;
    if (program.p_memsz == 0 || start >= kAddressEnd) return;
    if (program.p_memsz > kAddressEnd - start) {
      return fault(fmt::format("memory at {:#x} of {:#x} bytes", start, program.p_memsz));
    }
    CoreSegment segment;
    segment.range = {RemoteAddr{start}, program.p_memsz};
    segment.file_offset = program.p_offset;
    const std::uint64_t wanted = std::min(program.p_filesz, program.p_memsz);
    const std::uint64_t there = size_ - std::min(size_, program.p_offset);
    segment.stored = std::min(wanted, there);
    core_.missing_bytes_ += wanted - segment.stored;
    is_cut_ |= wanted != segment.stored;
    segment.readable = (program.p_flags & PF_R) != 0;
    segment.writable = (program.p_flags & PF_W) != 0;
    segment.executable = (program.p_flags & PF_X) != 0;
    segments_.push_back(segment);
  }

  Result<void> read_notes(const Elf64_Phdr& program) {
    std::vector<std::byte> bytes(
        std::min({program.p_filesz, kMostNoteBytes, size_ - std::min(size_, program.p_offset)}));
    bytes.resize(HA_TRY(read_at(core_.file_, program.p_offset, bytes)));
    if (bytes.size() < program.p_filesz) {
      is_cut_ = true;
      fault("its notes are cut off");
    }
    read_core_notes(bytes, core_.notes_);
    return {};
  }

  Result<void> finish_threads() {
    CoreNotes& notes = core_.notes_;
    if (notes.threads.empty()) {
      return malformed(is_cut_ ? "is a core file that is cut off: its list of threads is missing"
                               : "is a core file without threads");
    }
    FrozenThread& first = notes.threads.front();
    first.name = notes.name;
    core_.signal_thread_ = first.tid;
    if (notes.pid == 0) notes.pid = first.tid;
    std::set<pid_t> seen;
    std::erase_if(notes.threads,
                  [&seen](const FrozenThread& thread) { return !seen.insert(thread.tid).second; });
    std::sort(notes.threads.begin(), notes.threads.end(),
              [](const FrozenThread& a, const FrozenThread& b) { return a.tid < b.tid; });
    return {};
  }

  void finish_memory() {
    for (const CoreSegment& segment : segments_) {
      if (segment.stored == 0) continue;
      core_.stored_.push_back(
          {{segment.range.start, segment.stored}, segment.file_offset, core_.file_.get()});
      core_.stored_bytes_ += segment.stored;
    }
    const auto begins_as_elf = [this](RemoteAddr at) -> std::optional<bool> {
      std::array<char, SELFMAG> magic{};
      if (!core_.read(at, std::as_writable_bytes(std::span(magic)))) return std::nullopt;
      return CoreFile::may_begin({magic.data(), magic.size()});
    };
    core_.map_ = core_map(segments_, std::move(core_.notes_.files), begins_as_elf);
    core_.notes_.files.clear();
    std::vector<Mapping> mappings = core_.map_.mappings();
    name_vdso(mappings);
    core_.map_ = MemoryMap(std::move(mappings), page_bytes_there());
  }

  // The page size where the process ran. This machine's if the file does not contain it.
  [[nodiscard]] std::uint64_t page_bytes_there() const {
    const auto bytes = core_.told_by_kernel(AT_PAGESZ);
    const bool is_one = bytes && std::has_single_bit(*bytes) && *bytes >= kLeastPageBytes;
    return is_one ? *bytes : page_bytes();
  }

  // The vdso has no file to take a name from.
  void name_vdso(std::vector<Mapping>& mappings) const {
    const auto at = core_.told_by_kernel(AT_SYSINFO_EHDR);
    if (!at) return;
    for (Mapping& mapping : mappings) {
      const bool is_it = mapping.range.contains(RemoteAddr{*at}) && mapping.is_anonymous();
      if (is_it) mapping.path = "[vdso]";
    }
  }

  CoreFile& core_;
  std::uint64_t size_ = 0;
  std::vector<CoreSegment> segments_;
  bool is_cut_ = false;
};

Result<std::unique_ptr<CoreFile>> CoreFile::open(const std::string& path) {
  std::unique_ptr<CoreFile> core(new CoreFile(HA_TRY(open_source(path)), path));
  HA_TRY(CoreLoader(*core).load());
  return core;
}

std::optional<std::uint64_t> CoreFile::told_by_kernel(std::uint64_t type) const {
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxv().size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, auxv().data() + at, sizeof entry);
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return std::nullopt;
}

std::string CoreFile::program() const {
  const auto headers = told_by_kernel(AT_PHDR);
  const Mapping* const mapping = headers ? map_.find(RemoteAddr{*headers}) : nullptr;
  return mapping == nullptr ? std::string() : mapping->path;
}

const CoreFile::Part* CoreFile::find(const std::vector<Part>& parts, RemoteAddr at) {
  const auto behind = std::partition_point(
      parts.begin(), parts.end(), [at](const Part& part) { return part.range.start <= at; });
  if (behind == parts.begin()) return nullptr;
  const Part& part = *std::prev(behind);
  return part.range.contains(at) ? &part : nullptr;
}

Result<void> CoreFile::lend(Range range, const Fd& file, std::uint64_t file_offset) {
  const auto behind = std::partition_point(
      lent_.begin(), lent_.end(), [&](const Part& part) { return part.range.start < range.start; });
  const bool is_free = (behind == lent_.end() || range.end() <= behind->range.start) &&
                       (behind == lent_.begin() || std::prev(behind)->range.end() <= range.start);
  if (!is_free) return {};
  Fd copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (copy.empty()) return os_error("F_DUPFD", errno);
  lent_.insert(behind, {range, file_offset, copy.get()});
  files_.push_back(std::move(copy));
  return {};
}

Result<std::size_t> CoreFile::read_some(RemoteAddr from, std::span<std::byte> into) const {
  for (const auto* parts : {&stored_, &lent_}) {
    const Part* const part = find(*parts, from);
    if (part == nullptr || into.empty()) continue;
    const std::uint64_t skipped = from - part->range.start;
    const std::size_t wanted = std::min<std::uint64_t>(into.size(), part->range.bytes - skipped);
    const std::uint64_t offset = part->file_offset + skipped;
    if (offset > INT64_MAX) continue;
    ssize_t count = -1;
    do {
      count = ::pread(part->fd, into.data(), wanted, static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    if (count > 0) return static_cast<std::size_t>(count);
  }
  return Error{ErrorKind::Fault, fmt::format("{} is not in the core file", from)};
}

}  // namespace heapattach
