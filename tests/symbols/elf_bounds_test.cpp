// ELF files that are small, but would take much time or memory to read.

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/elf/elf_file.h"
#include "symbols/elf/file_share.h"
#include "symbols/elf/module.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

void put(const Fd& file, std::uint64_t offset, const void* bytes, std::size_t size) {
  REQUIRE(pwrite(file.get(), bytes, size, static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(size));
}

// A program that contains only a table of symbols and the text of their names.
struct SymbolFile {
  std::vector<Elf64_Sym> symbols;
  std::string names;
  std::uint64_t name_bytes = 0;  // the header's claim; 0: as many as there are
  std::uint64_t sections = 4;    // the header's claim

  [[nodiscard]] Fd make() const {
    Fd file(memfd_create("elf", MFD_CLOEXEC));
    const std::string section_names("\0.shstrtab\0.strtab\0.symtab\0", 27);
    const std::uint64_t symbols_at = 4096;
    const std::uint64_t symbols_size = symbols.size() * sizeof(Elf64_Sym);
    const std::uint64_t names_at = (symbols_at + symbols_size + 4095) / 4096 * 4096;
    const std::uint64_t claimed = name_bytes == 0 ? names.size() : name_bytes;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shoff = 512;
    header.e_shstrndx = 1;
    header.e_shnum = sections < SHN_LORESERVE ? static_cast<Elf64_Half>(sections) : 0;
    Elf64_Shdr headers[4] = {};
    headers[0].sh_size = sections < SHN_LORESERVE ? 0 : sections;
    headers[1] = {1, SHT_STRTAB, 0, 0, 1024, section_names.size(), 0, 0, 1, 0};
    headers[2] = {11, SHT_STRTAB, 0, 0, names_at, claimed, 0, 0, 1, 0};
    headers[3] = {19, SHT_SYMTAB, 0, 0, symbols_at, symbols_size, 2, 0, 8, sizeof(Elf64_Sym)};
    put(file, 0, &header, sizeof header);
    put(file, 512, headers, sizeof headers);
    put(file, 1024, section_names.data(), section_names.size());
    put(file, symbols_at, symbols.data(), symbols_size);
    put(file, names_at, names.data(), names.size());
    REQUIRE(ftruncate(file.get(), static_cast<off_t>(names_at + claimed)) == 0);
    return file;
  }
};

Elf64_Sym function(std::uint32_t name, std::uint64_t address) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 2;
  symbol.st_value = address;
  symbol.st_size = 1;
  return symbol;
}

}  // namespace

TEST_CASE("symbols are read as long as their names are in the file") {
  SymbolFile made{.symbols = {function(1, 0x1000), function(7, 0x2000)},
                  .names = std::string("\0first\0second\0", 14)};
  const auto elf = ElfFile::open(made.make());
  REQUIRE(elf);
  CHECK(elf->symbols_problem() == "");
  REQUIRE(elf->symbols("").size() == 2);
  CHECK(elf->symbols("")[1].name == "second");
}

TEST_CASE("names that lie in a hole of the file are not read") {
  SymbolFile made{.symbols = {function(1, 0x1000)},
                  .names = std::string("\0first\0", 7),
                  .name_bytes = 6 * kGigabyte};
  const auto elf = ElfFile::open(made.make());
  REQUIRE(elf);
  CHECK(elf->symbols_problem().find("hole") != std::string::npos);
  CHECK(elf->symbols("").empty());
}

TEST_CASE("a long name that many symbols share is dropped") {
  constexpr std::uint32_t kSymbols = 200'000;
  SymbolFile made;
  SUBCASE("longer than any name") {
    made.names = '\0' + std::string(4 << 20, 'a') + '\0';
  }
  SUBCASE("as long as a name may be") {
    made.names = '\0' + std::string(16'000, 'a') + '\0';
  }
  for (std::uint32_t i = 0; i < kSymbols; ++i) made.symbols.push_back(function(1, 0x1000 + i));
  const auto elf = ElfFile::open(made.make());
  REQUIRE(elf);
  std::size_t bytes = 0;
  for (const ElfSymbol& symbol : elf->symbols("")) bytes += symbol.name.size();
  CHECK(bytes <= 4 * made.names.size());
}

TEST_CASE("a file that claims millions of sections is refused") {
  SymbolFile made{.symbols = {function(1, 0x1000)}, .names = std::string("\0first\0", 7)};
  made.sections = 100'000'000;
  made.name_bytes = 8 * kGigabyte;
  const auto elf = ElfFile::open(made.make());
  REQUIRE_FALSE(elf);
  CHECK(elf.error().kind == ErrorKind::Malformed);
}

TEST_CASE("all symbols together have a limit, and return their share of it") {
  FileShare most;
  REQUIRE(most.take(kMostFileBytes - 100));
  SymbolFile made{.symbols = {function(1, 0x1000), function(7, 0x2000)},
                  .names = std::string("\0first\0second\0", 14)};
  {
    const auto elf = ElfFile::open(made.make());
    REQUIRE(elf);
    CHECK(elf->symbols_problem().find("of all files") != std::string::npos);
    CHECK(elf->symbols("").empty());
  }
  most = FileShare();
  CHECK(ElfFile::open(made.make())->symbols("").size() == 2);
}

TEST_CASE("files that are read together give what each gives alone") {
  const SymbolFile first{.symbols = {function(1, 0x1000)}, .names = std::string("\0first\0", 7)};
  const SymbolFile second{.symbols = {function(1, 0x2000)}, .names = std::string("\0second\0", 8)};
  std::vector<Fd> files;
  files.push_back(first.make());
  files.emplace_back(memfd_create("empty", MFD_CLOEXEC));
  files.push_back(second.make());
  SUBCASE("by one worker") {}
  SUBCASE("by one worker for each, because one is not a file") {
    files.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  const std::size_t count = files.size();
  const auto read = ElfFile::open_all(std::move(files));
  REQUIRE(read.size() == count);
  for (std::size_t i = 0; i < count; ++i) CHECK(read[i].has_value() == (i == 0 || i == 2));
  CHECK(read[0]->symbols("").at(0).name == "first");
  CHECK(read[2]->symbols("").at(0).name == "second");
  CHECK(read[2]->symbols("").at(0).address == 0x2000);
  CHECK(read[1].error().message() == "not an ELF file");
  CHECK(ElfFile::open_all({}).empty());
}

TEST_CASE("the symbols of files that are read together have one limit") {
  const SymbolFile made{.symbols = {function(1, 0x1000), function(7, 0x2000)},
                        .names = std::string("\0first\0second\0", 14)};
  FileShare most;
  REQUIRE(most.take(kMostFileBytes - 300));  // one file takes 206 bytes
  std::vector<Fd> files;
  for (int i = 0; i < 2; ++i) files.push_back(made.make());
  const auto read = ElfFile::open_all(std::move(files));
  REQUIRE(read.size() == 2);
  REQUIRE((read[0] && read[1]));
  CHECK(read[0]->symbols("").size() == 2);
  CHECK(read[1]->symbols("").empty());
  CHECK(read[1]->symbols_problem().find("of all files") != std::string::npos);
}

TEST_CASE("the checksum of a hole is not computed") {
  const Fd file(memfd_create("debug", MFD_CLOEXEC));
  REQUIRE(ftruncate(file.get(), static_cast<off_t>(3 * kGigabyte)) == 0);
  const auto checksum = debug_link_crc(file);
  REQUIRE_FALSE(checksum);
  CHECK(checksum.error().message().find("hole") != std::string::npos);
}

TEST_CASE("a file's stored bytes are counted without its holes") {
  const Fd file(memfd_create("holes", MFD_CLOEXEC));
  const std::vector<char> data(8192, 'x');
  put(file, 0, data.data(), data.size());
  put(file, 1 << 20, data.data(), data.size());
  REQUIRE(ftruncate(file.get(), 4 << 20) == 0);
  CHECK(stored_bytes(file) == 2 * 8192);
  CHECK(stored_bytes(file, 4096, 8192) == 4096);
  CHECK(stored_bytes(file, 8 << 20, 1) == 0);
  CHECK(is_stored(file, 0, 8192));
  CHECK_FALSE(is_stored(file, 0, 4 << 20));
  CHECK_FALSE(is_stored(file, 4 << 20, 1));
}

}  // namespace heapattach
