#include "symbols/elf/elf_parser.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/arch/processors.h"
#include "symbols/elf/file_share.h"

namespace heapattach {

namespace {

// More than any real file has; a larger number is false and would cost memory.
constexpr std::size_t kMostProgramHeaders = 4096;
constexpr std::uint64_t kMostNoteBytes = 1 << 16;
constexpr std::uint64_t kMostSections = 100'000;
// More than any file has in use; callers ask for one of a few well-known sections.
constexpr std::size_t kMostToldSections = 1000;
constexpr std::uint64_t kMostSectionNameBytes = 1 << 20;
// The memory for a table of symbols, in addition to itself: the list made from it, and the sorted
// one.
constexpr std::uint64_t kSymbolGrowth = 4;
// Linkers let names share their ends, which makes them a little longer than their table.
constexpr std::uint64_t kNameSharing = 4;

// Before libelf sees it, which allocates as many headers as the file claims.
Result<void> check_header(const Fd& file) {
  Elf64_Ehdr header{};
  const auto got = pread(file.get(), &header, sizeof header, 0);
  if (got < EI_NIDENT || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Error{ErrorKind::Malformed, "not an ELF file"};
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Error{ErrorKind::Unsupported, kForeignFile};
  }
  if (got < static_cast<ssize_t>(sizeof header)) {
    return Error{ErrorKind::Malformed, "not an ELF file"};
  }
  // The first section has the counts that do not fit (elf(5)).
  Elf64_Shdr first{};
  if (header.e_shoff > INT64_MAX - sizeof first ||
      pread(file.get(), &first, sizeof first, static_cast<off_t>(header.e_shoff)) < 0) {
    first = {};
  }
  const std::uint64_t sections = header.e_shnum == 0 ? first.sh_size : header.e_shnum;
  const std::uint64_t programs = header.e_phnum == PN_XNUM ? first.sh_info : header.e_phnum;
  if ((header.e_shoff != 0 && sections > kMostSections) || programs > kMostProgramHeaders) {
    return Error{ErrorKind::Malformed,
                 fmt::format("it claims {} sections and {} segments", sections, programs)};
  }
  return {};
}

// The usable part of a segment; none if there is none.
std::optional<LoadSegment> checked_segment(const GElf_Phdr& header, std::uint64_t file_size) {
  LoadSegment segment{.address = header.p_vaddr,
                      .memory_bytes = header.p_memsz,
                      .file_offset = header.p_offset,
                      .file_bytes = std::min<std::uint64_t>(header.p_filesz, header.p_memsz),
                      .writable = (header.p_flags & PF_W) != 0,
                      .executable = (header.p_flags & PF_X) != 0};
  if (segment.memory_bytes == 0 || segment.address + segment.memory_bytes < segment.address) {
    return std::nullopt;
  }
  if (segment.file_offset > file_size) {
    segment.file_bytes = 0;
  } else {
    segment.file_bytes = std::min(segment.file_bytes, file_size - segment.file_offset);
  }
  return segment;
}

struct Section {
  Elf_Scn* handle;
  GElf_Shdr header;
  std::string_view name;
};

// Whether the table of section names is valid.
bool has_section_names(Elf* elf, const Fd& file, std::size_t at) {
  GElf_Shdr header;
  Elf_Scn* const names = elf_getscn(elf, at);
  return names != nullptr && gelf_getshdr(names, &header) != nullptr &&
         (header.sh_flags & SHF_COMPRESSED) == 0 && header.sh_size <= kMostSectionNameBytes &&
         is_stored(file, header.sh_offset, header.sh_size);
}

std::vector<Section> sections_of(Elf* elf, const Fd& file) {
  std::vector<Section> sections;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  const bool has_names = has_section_names(elf, file, names);
  Elf_Scn* handle = nullptr;
  while ((handle = elf_nextscn(elf, handle)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(handle, &header) == nullptr) continue;
    const char* name = has_names ? elf_strptr(elf, names, header.sh_name) : nullptr;
    sections.push_back({handle, header, name == nullptr ? "" : name});
  }
  return sections;
}

bool is_defined_here(const GElf_Sym& symbol) {
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  const bool wanted = type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE ||
                      type == STT_GNU_IFUNC || type == STT_COMMON;
  return wanted && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
         symbol.st_value != 0;
}

// The name at an offset of a string table, if it is terminated.
std::optional<std::string_view> name_at(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return std::nullopt;
  const std::string_view rest = text.substr(offset, kLongestSymbolName + 1);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  return rest.substr(0, end);
}

void write_symbols(Elf* elf, const Section& section, PackedSymbols& into) {
  Elf_Data* data = elf_getdata(section.handle, nullptr);
  Elf_Scn* strings = elf_getscn(elf, section.header.sh_link);
  Elf_Data* names = strings == nullptr ? nullptr : elf_getdata(strings, nullptr);
  if (data == nullptr || data->d_buf == nullptr || names == nullptr || names->d_buf == nullptr) {
    return;
  }
  const std::string_view text(static_cast<const char*>(names->d_buf), names->d_size);
  const std::size_t count = data->d_size / sizeof(Elf64_Sym);
  std::uint64_t name_bytes = kNameSharing * text.size();
  for (std::size_t i = 0; i < count && i <= INT32_MAX; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (!is_defined_here(symbol)) continue;
    const auto name = name_at(text, symbol.st_name);
    if (!name) continue;
    if (name->size() > name_bytes) return;
    name_bytes -= name->size();
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    into.add({*name, symbol.st_value, symbol.st_size, type == STT_FUNC || type == STT_GNU_IFUNC,
              type == STT_GNU_IFUNC});
  }
}

bool has_symbols(const Section& section) {
  return section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_DYNSYM;
}

struct EndElf {
  void operator()(Elf* elf) const noexcept { elf_end(elf); }
};
using OwnedElf = std::unique_ptr<Elf, EndElf>;

void read_program_headers(Elf* elf, const Fd& file, std::uint64_t size, ElfFacts& facts) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) count = 0;
  for (std::size_t i = 0; i < std::min(count, kMostProgramHeaders); ++i) {
    GElf_Phdr program;
    if (gelf_getphdr(elf, static_cast<int>(i), &program) == nullptr) break;
    const auto segment = checked_segment(program, size);
    if (!segment) continue;
    if (program.p_type == PT_LOAD) facts.segments.push_back(*segment);
    if (program.p_type == PT_GNU_RELRO) facts.relro = segment;
    if (program.p_type == PT_NOTE && facts.build_id.empty()) {
      facts.notes = segment;
      std::vector<std::byte> bytes(std::min(segment->file_bytes, kMostNoteBytes));
      bytes.resize(read_file_at(file, segment->file_offset, bytes));
      facts.build_id = build_id_in_notes(bytes);
    }
  }
  std::sort(facts.segments.begin(), facts.segments.end(),
            [](const LoadSegment& a, const LoadSegment& b) { return a.address < b.address; });
}

void check_symbol_tables(Elf* elf,
                         const Fd& file,
                         const std::vector<Section>& sections,
                         ElfFacts& facts) {
  for (const Section& section : sections) {
    if (!has_symbols(section)) continue;
    GElf_Shdr names;
    Elf_Scn* const strings = elf_getscn(elf, section.header.sh_link);
    if (strings == nullptr || gelf_getshdr(strings, &names) == nullptr) continue;
    if (!is_stored(file, section.header.sh_offset, section.header.sh_size) ||
        !is_stored(file, names.sh_offset, names.sh_size)) {
      facts.symbols_problem = "its symbol table is missing from the file, or is mostly a hole";
      return;
    }
    // Each is below the size of the file; beyond the bound, more does not matter.
    facts.symbol_cost += std::min(section.header.sh_size, kMostFileBytes) * kSymbolGrowth +
                         std::min(names.sh_size, kMostFileBytes);
  }
}

std::optional<DebugLink> debug_link_of(const std::vector<Section>& sections) {
  for (const Section& section : sections) {
    if (section.name != ".gnu_debuglink" || section.header.sh_size > kMostNoteBytes) continue;
    Elf_Data* data = elf_rawdata(section.handle, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const std::string_view text(static_cast<const char*>(data->d_buf), data->d_size);
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) continue;
    const std::size_t crc_at = (end + 1 + 3) / 4 * 4;
    if (crc_at + 4 > text.size()) continue;
    DebugLink link{.file = std::string(text.substr(0, end))};
    std::memcpy(&link.crc, text.data() + crc_at, sizeof link.crc);
    return link;
  }
  return std::nullopt;
}

Result<OwnedElf> begin(const Fd& file) {
  HA_TRY(check_header(file));
  elf_version(EV_CURRENT);
  OwnedElf elf(elf_begin(file.get(), ELF_C_READ, nullptr));
  if (elf == nullptr) return Error{ErrorKind::Malformed, elf_errmsg(-1)};
  GElf_Ehdr header;
  if (elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr) {
    return Error{ErrorKind::Malformed, "not an ELF file"};
  }
  if (gelf_getclass(elf.get()) != ELFCLASS64 || !is_known_processor(header.e_machine)) {
    return Error{ErrorKind::Unsupported, kForeignFile};
  }
  return elf;
}

}  // namespace

Result<ElfFacts> parse_elf(const Fd& file, bool with_symbols) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  const OwnedElf elf = HA_TRY(begin(file));
  ElfFacts facts;
  facts.machine = elf64_getehdr(elf.get())->e_machine;
  read_program_headers(elf.get(), file, static_cast<std::uint64_t>(status.st_size), facts);
  const std::vector<Section> sections = sections_of(elf.get(), file);
  for (const Section& section : sections) {
    const bool is_told = facts.sections.size() < kMostToldSections && !section.name.empty() &&
                         section.header.sh_type != SHT_NOBITS;
    if (is_told) facts.sections.emplace_back(section.name);
  }
  facts.debug_link = debug_link_of(sections);
  check_symbol_tables(elf.get(), file, sections, facts);
  if (!with_symbols || !facts.symbols_problem.empty()) return facts;
  FileShare share;  // the share in this process; the owner of the symbols takes it again
  if (!share.take(facts.symbol_cost)) return facts;
  for (const Section& section : sections) {
    if (has_symbols(section)) write_symbols(elf.get(), section, facts.symbols);
  }
  return facts;
}

std::size_t read_file_at(const Fd& file, std::uint64_t offset, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    if (offset + done > INT64_MAX) break;
    const ssize_t count = pread(file.get(), into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::string build_id_in_notes(std::span<const std::byte> notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    notes = notes.subspan(sizeof header);
    const std::size_t name_bytes = (std::size_t{header.n_namesz} + 3) / 4 * 4;
    const std::size_t data_bytes = (std::size_t{header.n_descsz} + 3) / 4 * 4;
    if (name_bytes > notes.size() || header.n_descsz > notes.size() - name_bytes) break;
    const bool is_gnu = header.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0;
    if (is_gnu && header.n_type == NT_GNU_BUILD_ID) {
      std::string id;
      for (const std::byte byte : notes.subspan(name_bytes, header.n_descsz)) {
        id += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
      }
      return id;
    }
    notes = notes.subspan(std::min(name_bytes + data_bytes, notes.size()));
  }
  return {};
}

}  // namespace heapattach
