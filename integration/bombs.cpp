#include "integration/bombs.h"

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include "attach/base/fd.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kPage = 4096;

template <class T>
void put(std::string& into, T value) {
  into.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Section {
  std::string name;
  std::uint32_t type = SHT_PROGBITS;
  std::string bytes;
  std::uint64_t claimed = 0;  // the header's claim; 0: as many as there are
  std::uint32_t link = 0;
};

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755)) {
    if (fd_.empty()) throw std::runtime_error("open " + path);
  }
  void put_at(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t done =
          ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done <= 0) throw std::runtime_error("writing a bomb");
      offset += static_cast<std::uint64_t>(done);
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  void set_size(std::uint64_t bytes) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) throw std::runtime_error("size");
  }

 private:
  Fd fd_;
};

Elf64_Ehdr elf_header(std::size_t sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = 512;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections);
  header.e_shstrndx = 1;
  return header;
}

// Writes a library whose first page is loaded.
void write_library(const std::string& path, std::vector<Section> sections) {
  sections.insert(sections.begin(),
                  {Section{"", SHT_NULL, ""}, Section{".shstrtab", SHT_STRTAB, ""}});
  std::vector<Elf64_Shdr> headers(sections.size());
  std::string names;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    headers[i].sh_name = static_cast<Elf64_Word>(names.size());
    names += sections[i].name + '\0';
  }
  sections[1].bytes = names;
  OpenFile file(path);
  std::uint64_t at = kPage;
  for (std::size_t i = 1; i < sections.size(); ++i) {
    const Section& section = sections[i];
    headers[i].sh_type = section.type;
    headers[i].sh_offset = at;
    headers[i].sh_size = section.claimed == 0 ? section.bytes.size() : section.claimed;
    headers[i].sh_link = section.link;
    headers[i].sh_addralign = 1;
    headers[i].sh_entsize = section.type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0;
    file.put_at(at, section.bytes);
    at = (at + headers[i].sh_size + kPage - 1) / kPage * kPage;
  }
  file.set_size(at);
  const Elf64_Ehdr header = elf_header(sections.size());
  const Elf64_Phdr loaded{PT_LOAD, PF_R | PF_X, 0, 0, 0, kPage, kPage, kPage};
  std::string first;
  put(first, header);
  put(first, loaded);
  first.resize(512);
  for (const Elf64_Shdr& section : headers) put(first, section);
  file.put_at(0, first);
}

void write_symbols(const std::string& path,
                   std::uint32_t symbols,
                   const std::string& names,
                   std::uint64_t claimed) {
  std::string table;
  for (std::uint32_t i = 0; i < symbols; ++i) {
    put(table, Elf64_Sym{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 2, 0x100 + i, 1});
  }
  write_library(path,
                {{".strtab", SHT_STRTAB, names, claimed}, {".symtab", SHT_SYMTAB, table, 0, 2}});
}

// Writes debug information of one unit with these entries. The given abbreviations have the numbers
// 1, 2, …
void write_debug(const std::string& path,
                 const std::string& abbreviations,
                 const std::string& entries,
                 const std::string& texts) {
  std::string unit;
  put(unit, std::uint16_t{4});
  put(unit, std::uint32_t{0});
  put(unit, std::uint8_t{8});
  unit += '\1';  // the unit's own entry
  unit += entries + '\0';
  std::string info;
  put(info, static_cast<std::uint32_t>(unit.size()));
  const std::string of_unit{1, DW_TAG_compile_unit, 1, 0, 0};
  write_library(path, {{".debug_info", SHT_PROGBITS, info + unit},
                       {".debug_abbrev", SHT_PROGBITS, of_unit + abbreviations + '\0'},
                       {".debug_str", SHT_PROGBITS, texts}});
}

}  // namespace

void write_sparse_names(const std::string& path) {
  write_symbols(path, 1, std::string("\0first\0", 7), std::uint64_t{6} << 30U);
}

void write_shared_names(const std::string& path) {
  write_symbols(path, 200'000, '\0' + std::string(4U << 20U, 'a') + '\0', 0);
}

void write_long_type_names(const std::string& path, std::uint32_t types) {
  const std::string text(1U << 20U, 'a');
  const std::string structure{
      2, DW_TAG_structure_type, 0, DW_AT_name, DW_FORM_strp, DW_AT_byte_size, DW_FORM_data1, 0, 0};
  std::string entries;
  for (std::uint32_t i = 0; i < types; ++i) {
    entries += '\2';
    put(entries, i % static_cast<std::uint32_t>(text.size()));
    entries += '\10';
  }
  write_debug(path, structure, entries, text + '\0');
}

void write_many_types(const std::string& path, std::uint32_t types) {
  constexpr std::uint32_t kFirst = 12;  // after the unit's header and entry
  const std::string structure{
      2, DW_TAG_structure_type, 1, DW_AT_name, DW_FORM_string, DW_AT_byte_size, DW_FORM_data1, 0,
      0};
  const std::string member{3,
                           DW_TAG_member,
                           0,
                           DW_AT_name,
                           DW_FORM_string,
                           DW_AT_type,
                           DW_FORM_ref4,
                           DW_AT_data_member_location,
                           DW_FORM_data1,
                           0,
                           0};
  const std::string pointer{4, DW_TAG_pointer_type, 0, DW_AT_type, DW_FORM_ref4, 0, 0};
  std::string entries;
  std::uint32_t before = kFirst;
  for (std::uint32_t i = 0; i < types; ++i) {
    const auto here = kFirst + static_cast<std::uint32_t>(entries.size());
    entries += '\2' + fmt::format("s{}", i) + '\0' + '\10';
    entries += std::string("\3m", 2) + '\0';
    const auto to_pointer = kFirst + static_cast<std::uint32_t>(entries.size()) + 4 + 1 + 1;
    put(entries, to_pointer);
    entries += '\0';  // its place
    entries += '\0';  // the end of the structure
    entries += '\4';
    put(entries, before);
    before = here;
  }
  write_debug(path, structure + member + pointer, entries, std::string(1, '\0'));
}

void write_packed_blanks(const std::string& path, std::uint64_t bytes) {
  const gzFile file = gzopen(path.c_str(), "wb9");
  if (file == nullptr) throw std::runtime_error("gzopen " + path);
  const std::string header = R"({"record":"snapshot","version":1})"
                             "\n";
  gzwrite(file, header.data(), static_cast<unsigned>(header.size()));
  const std::string blanks(1U << 20U, ' ');
  for (std::uint64_t done = 0; done < bytes; done += blanks.size()) {
    gzwrite(file, blanks.data(), static_cast<unsigned>(blanks.size()));
  }
  gzclose(file);
}

}  // namespace heapattach
