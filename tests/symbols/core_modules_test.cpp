#include "symbols/elf/core_modules.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "symbols/elf/elf_file.h"
#include "tests/support/core_builder.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBias = 0x555500000000;

std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

// A core file of a process that ran this program. It has the first page of the program's file,
// changed unless `is_same_build`.
struct CoreOfOurs {
  explicit CoreOfOurs(bool is_same_build)
      : elf(ElfFile::open(Fd::open(own_program(), O_RDONLY).value()).value()) {
    const LoadSegment& first = elf.segments().front();
    const LoadSegment* code = nullptr;
    for (const LoadSegment& segment : elf.segments()) {
      if (segment.executable) code = &segment;
    }
    REQUIRE(code != nullptr);
    code_at = kBias + code->address;
    code_offset = code->file_offset;
    std::string page(kPage, '\0');
    std::ifstream(own_program(), std::ios::binary).read(page.data(), kPage);
    const auto notes = elf.notes();
    REQUIRE(notes);
    REQUIRE(notes->address + notes->memory_bytes <= kPage);
    if (!is_same_build)
      page.replace(notes->address, notes->memory_bytes, notes->memory_bytes, '\0');
    const std::uint64_t code_start = kBias + code->address / kPage * kPage;
    CoreBuilder builder;
    builder.process(1, "ours").thread(1, 0x1000).program_headers_at(kBias + 64);
    builder.files({{kBias, kBias + kPage, first.file_offset / kPage, own_program()},
                   {code_start, code_start + code->memory_bytes / kPage * kPage,
                    code->file_offset / kPage, own_program()}});
    builder.memory(kBias, kPage, page, PF_R);
    std::ofstream(directory.file("core"), std::ios::binary) << builder.text();
    auto opened = CoreFile::open(directory.file("core"));
    REQUIRE(opened);
    core = std::move(*opened);
  }

  TemporaryDirectory directory;
  ElfFile elf;
  std::uint64_t code_at = 0;
  std::uint64_t code_offset = 0;
  std::unique_ptr<CoreFile> core;
};

}  // namespace

TEST_CASE("the files of a core file's process are found by their paths and lent to the core file") {
  CoreOfOurs ours(true);
  std::array<std::byte, 64> from_core{};
  CHECK_FALSE(ours.core->read(RemoteAddr{ours.code_at}, from_core));
  const auto modules = load_modules(*ours.core, {});
  REQUIRE(modules);
  REQUIRE(modules->main_program() != nullptr);
  CHECK(modules->main_program()->bias() == kBias);
  CHECK_FALSE(modules->main_program()->symbols().empty());
  REQUIRE(ours.core->read(RemoteAddr{ours.code_at}, from_core));
  std::array<std::byte, 64> from_file{};
  REQUIRE(ours.elf.read_at(ours.code_offset, from_file) == from_file.size());
  CHECK(from_core == from_file);
}

TEST_CASE("a file of another build than the one in a core file is named and not used") {
  CoreOfOurs ours(false);
  std::string exe;
  SUBCASE("by its path") {}
  SUBCASE("by --exe") {
    exe = own_program();
  }
  const auto modules =
      load_modules(*ours.core, {.exe = exe, .debug_dirs = {}, .sysroot = {}, .server = {}});
  REQUIRE(modules);
  const Module* const program = modules->main_program();
  REQUIRE(program != nullptr);
  CHECK(program->file().empty());
  CHECK(program->symbols().empty());
  REQUIRE(program->notes().size() == 1);
  CHECK(program->notes()[0].find("the file has build id " + ours.elf.build_id()) !=
        std::string::npos);
  std::array<std::byte, 64> bytes{};
  CHECK_FALSE(ours.core->read(RemoteAddr{ours.code_at}, bytes));
}

TEST_CASE("a missing file leaves a module without symbols") {
  CoreBuilder builder;
  builder.process(1, "gone").thread(1, 0x1000).program_headers_at(kBias + 64);
  builder.files({{kBias, kBias + kPage, 0, "/no/such/program"}});
  builder.memory(kBias, kPage, "\177ELF", PF_R | PF_X);
  const TemporaryDirectory directory;
  std::ofstream(directory.file("core"), std::ios::binary) << builder.text();
  const auto core = CoreFile::open(directory.file("core"));
  REQUIRE(core);
  const auto modules = load_modules(**core, {});
  REQUIRE(modules);
  REQUIRE(modules->all().size() == 1);
  CHECK(modules->all()[0].notes()[0].find("/no/such/program") != std::string::npos);
}

}  // namespace heapattach
