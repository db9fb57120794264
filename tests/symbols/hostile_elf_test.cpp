#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/sandbox/sandbox.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/module.h"

namespace heapattach {

namespace {

using Bytes = std::vector<std::byte>;

Bytes file_of(const std::string& path) {
  const Fd file = Fd::open(path, O_RDONLY).value();
  const std::string text = read_all(file, 1 << 20).value();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Fd file_with(const Bytes& bytes) {
  Fd file(memfd_create("elf", MFD_CLOEXEC));
  REQUIRE(write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

// The bytes of a small ELF file; empty if there was no compiler to make one.
Bytes small_elf() {
  for (const char* const name : {"/gcc_Os_shared_1", "/clang_Os_shared_1"}) {
    const std::string path = std::string(ACCESSOR_DIR) + name;
    if (std::filesystem::exists(path)) return file_of(path);
  }
  MESSAGE("skipped: there was no compiler to make a small ELF file");
  return {};
}

// Reads files without forking workers, which would take most of the time for thousands of files.
struct WithoutWorkers {
  WithoutWorkers() { pretend_to_have_no_rights(); }
  ~WithoutWorkers() { pretend_to_have_no_rights(false); }
  WithoutWorkers(const WithoutWorkers&) = delete;
  WithoutWorkers& operator=(const WithoutWorkers&) = delete;
};

// Asks a module for everything. The result keeps the compiler from optimising the questions away.
std::uint64_t ask_everything(const Bytes& bytes, std::uint64_t bias) {
  const auto module = Module::from_file(file_with(bytes), "/x/hostile", bias);
  if (!module) {
    CHECK((module.error().kind == ErrorKind::Malformed ||
           module.error().kind == ErrorKind::Unsupported));
    return 0;
  }
  std::uint64_t sum = module->build_id().size();
  for (const Segment& segment : module->segments()) {
    CHECK(segment.range.end() >= segment.range.start);
    for (const std::byte byte : module->file_bytes(segment.range.start)) {
      sum += std::to_integer<std::uint64_t>(byte);
    }
  }
  for (const Symbol& symbol : module->symbols()) {
    sum += symbol.name.size();
    CHECK(symbol.name.find('\0') == std::string_view::npos);
  }
  if (const auto relro = module->relro()) CHECK(relro->end() >= relro->start);
  const auto symbol = module->symbol_at(RemoteAddr{bias + 0x1000});
  return sum + (symbol ? symbol->bytes : 0) + module->symbols_with_prefix("o").size();
}

}  // namespace

TEST_CASE("an ELF file that is cut short is read as far as it goes") {
  const WithoutWorkers without_workers;
  const Bytes whole = small_elf();
  if (whole.empty()) return;
  std::uint64_t sum = 0;
  for (std::size_t size = 0; size < whole.size(); size += size < 1024 ? 1 : 61) {
    sum += ask_everything(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)),
                          0x7f00'0000'0000);
  }
  CHECK(sum > 0);
}

TEST_CASE("2,000 damaged ELF files do no harm") {
  const WithoutWorkers without_workers;
  const Bytes whole = small_elf();
  if (whole.empty()) return;
  std::mt19937 random(4711);
  std::uint64_t sum = 0;
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = whole;
    const unsigned changes = 1 + random() % 8;
    for (unsigned i = 0; i < changes; ++i) {
      // Half of the changes are in the headers at the file's beginning and end, where they matter.
      const std::size_t third = random() % 4;
      std::size_t at = random() % bytes.size();
      if (third == 0) at = random() % 1024;
      if (third == 1) at = bytes.size() - 1 - random() % 2048;
      constexpr std::byte kNasty[] = {std::byte{0}, std::byte{0xff}, std::byte{0x7f},
                                      std::byte{0x80}};
      bytes[at] = random() % 2 == 0 ? kNasty[random() % 4] : static_cast<std::byte>(random());
    }
    sum += ask_everything(bytes, round % 2 == 0 ? 0 : ~std::uint64_t{0} - 0x2000);
  }
  CHECK(sum > 0);
}

TEST_CASE("a segment that would wrap around the address space is left out and noted") {
  const Bytes whole = small_elf();
  if (whole.empty()) return;
  const auto module = Module::from_file(file_with(whole), "/x/far", ~std::uint64_t{0} - 0x100);
  REQUIRE(module);
  for (const Segment& segment : module->segments()) {
    CHECK(segment.range.end() >= segment.range.start);
  }
  REQUIRE_FALSE(module->notes().empty());
  CHECK(module->notes()[0].find("address space") != std::string::npos);
}

TEST_CASE("a 32-bit ELF file is unsupported") {
  Bytes bytes(sizeof(Elf32_Ehdr));
  Elf32_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_machine = EM_386;
  std::memcpy(bytes.data(), &header, sizeof header);
  const auto elf = ElfFile::open(file_with(bytes));
  REQUIRE_FALSE(elf);
  CHECK(elf.error().kind == ErrorKind::Unsupported);
}

TEST_CASE("the build id is found among other notes, and not in broken ones") {
  const auto note = [](std::uint32_t type, std::uint32_t claimed, std::string_view data) {
    Elf64_Nhdr header{4, claimed, type};
    Bytes bytes(sizeof header + 4 + (data.size() + 3) / 4 * 4);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, "GNU", 4);
    std::memcpy(bytes.data() + sizeof header + 4, data.data(), data.size());
    return bytes;
  };
  Bytes notes = note(NT_GNU_ABI_TAG, 6, "abcdef");
  const Bytes id = note(NT_GNU_BUILD_ID, 3, "\x01\xab\xff");
  notes.insert(notes.end(), id.begin(), id.end());
  CHECK(build_id_in_notes(notes) == "01abff");
  CHECK(build_id_in_notes(note(NT_GNU_BUILD_ID, 0xffffffff, "xyz")).empty());
  CHECK(build_id_in_notes(note(NT_GNU_BUILD_ID, 64, "xyz")).empty());
  CHECK(build_id_in_notes({}).empty());
}

TEST_CASE("the checksum is that of .gnu_debuglink") {
  // The usual check value of this CRC-32.
  Bytes bytes(9);
  std::memcpy(bytes.data(), "123456789", 9);
  const Fd file = file_with(bytes);
  CHECK(debug_link_crc(file).value() == 0xcbf43926);
}

}  // namespace heapattach
