#include "inject/padding.h"

#include <cstring>
#include <optional>

#include <doctest/doctest.h>
#include <elf.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

constexpr RemoteAddr kFirst{0x400000};
constexpr RemoteAddr kCode{0x401000};
constexpr std::size_t kNeeded = 400;

// A module of two pages: its header, and code of `code_bytes`.
struct Image {
  explicit Image(std::uint64_t code_bytes) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof segment;
    header.e_phnum = 1;
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_offset = 0x1000;
    segment.p_filesz = code_bytes;
    segment.p_memsz = code_bytes;
  }
  void write_to(FakeMemory& all) const {
    all.map_zero(kFirst, 0x2000);
    all.put(kFirst, header);
    all.put(kFirst + sizeof header, segment);
  }

  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
};

std::optional<RemoteAddr> find_padding(const MemoryMap& map,
                                       const MemoryReader& memory,
                                       std::size_t bytes) {
  const auto found = find_paddings(map, memory, bytes);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::optional<RemoteAddr> padding_of(const Image& image, const MemoryMap& map) {
  FakeMemory memory;
  image.write_to(memory);
  return find_padding(map, memory, kNeeded);
}

MemoryMap map_of(bool is_private = true) {
  Mapping first{.range = {kFirst, 0x1000}, .readable = true, .inode = 5, .path = "/bin/x"};
  Mapping code{.range = {kCode, 0x1000},
               .readable = true,
               .executable = true,
               .is_private = is_private,
               .file_offset = 0x1000,
               .inode = 5,
               .path = "/bin/x"};
  return MemoryMap({first, code});
}

}  // namespace

TEST_CASE("padding comes after the last byte of the code, aligned") {
  const auto at = padding_of(Image(0x801), map_of());
  REQUIRE(at.has_value());
  CHECK(*at == kCode + 0x840);
}

TEST_CASE("bytes in use are skipped") {
  FakeMemory memory;
  Image(0x801).write_to(memory);
  memory.put(kCode + 0x900, std::uint8_t{7});
  const auto at = find_padding(map_of(), memory, kNeeded);
  REQUIRE(at.has_value());
  CHECK(*at == kCode + 0x940);
}

TEST_CASE("without padding, none is found") {
  CHECK(!padding_of(Image(0x1000), map_of()));
  CHECK(!padding_of(Image(0xf00), map_of()));
  CHECK(!padding_of(Image(0x801), map_of(false)));
  CHECK(!padding_of(Image(0x801), {}));
}

TEST_CASE("of several paddings, as many are named as a thread may need to come back") {
  FakeMemory memory;
  Image(0x801).write_to(memory);
  const auto found = find_paddings(map_of(), memory, kNeeded);
  REQUIRE(found.size() == 1);
  CHECK(found.front() == kCode + 0x840);
  CHECK(find_paddings({}, memory, kNeeded).empty());
}

TEST_CASE("a program whose last page of code is full has padding in the kernel's vdso") {
  FakeMemory memory;
  Image(0x1000).write_to(memory);
  constexpr RemoteAddr kVdso{0x7fff0000};
  Image vdso(0xa11);
  vdso.segment.p_offset = 0;
  memory.map_zero(kVdso, 0x1000);
  memory.put(kVdso, vdso.header);
  memory.put(kVdso + sizeof vdso.header, vdso.segment);
  std::vector<Mapping> mappings = map_of().mappings();
  mappings.push_back(
      {.range = {kVdso, 0x1000}, .readable = true, .executable = true, .path = "[vdso]"});
  const auto at = find_padding(MemoryMap(mappings), memory, kNeeded);
  REQUIRE(at.has_value());
  CHECK(*at == kVdso + 0xa40);
  mappings.back().path = "";  // code that was made at run time
  CHECK(!find_padding(MemoryMap(mappings), memory, kNeeded));
}

TEST_CASE("headers that contradict the map are ignored") {
  Image image(0x801);
  SUBCASE("not an ELF file") {
    image.header.e_ident[1] = 'X';
  }
  SUBCASE("a segment longer than its mapping") {
    image.segment.p_memsz = 0x1001;
  }
  SUBCASE("a segment of all memory") {
    image.segment.p_filesz = ~std::uint64_t{0};
  }
  SUBCASE("a segment elsewhere") {
    image.segment.p_offset = 0x9000;
  }
  SUBCASE("more segments than there can be") {
    image.header.e_phnum = 65535;
  }
  SUBCASE("a table beyond all memory") {
    image.header.e_phoff = ~std::uint64_t{0} - 100;
  }
  CHECK(!padding_of(image, map_of()));
}

}  // namespace heapattach
