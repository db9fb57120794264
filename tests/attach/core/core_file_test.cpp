#include "attach/core/core_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "tests/support/core_builder.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {
namespace {

constexpr std::uint64_t kHeap = 0x7f0000000000;
constexpr std::uint64_t kProgram = 0x400000;
constexpr std::uint64_t kPage = 4096;

// A process of two threads with a page of memory.
CoreBuilder small_core() {
  CoreBuilder core;
  core.process(4711, "service").thread(4713, kHeap + 8, 11).thread(4711, kHeap + 16);
  core.memory(kHeap, kPage, std::string(kPage, 'h'));
  return core;
}

struct Opened {
  explicit Opened(const std::string& text) : core(write(text)) {}

  Result<std::unique_ptr<CoreFile>> write(const std::string& text) const {
    std::ofstream(directory.file("core"), std::ios::binary) << text;
    return CoreFile::open(directory.file("core"));
  }
  CoreFile& operator*() {
    REQUIRE_MESSAGE(core, core.error().message());
    return **core;
  }
  // The text at an address, up to its end or 64 bytes.
  std::string text_at(std::uint64_t address) {
    std::array<std::byte, 64> bytes{};
    const auto count = (**this).read_some(RemoteAddr{address}, bytes);
    if (!count) return "(fault)";
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), *count};
  }
  ErrorKind error_kind() {
    REQUIRE_FALSE(core);
    CHECK(core.error().message().find(directory.file("core")) != std::string::npos);
    return core.error().kind;
  }

  TemporaryDirectory directory;
  Result<std::unique_ptr<CoreFile>> core;
};

}  // namespace

TEST_CASE("a core file shows its process, threads and memory") {
  Opened opened(small_core().text());
  const CoreFile& core = *opened;
  CHECK(core.pid() == 4711);
  CHECK(core.signal() == 11);
  CHECK(core.signal_thread() == 4713);
  REQUIRE(core.threads().size() == 2);
  CHECK(core.threads()[0].tid == 4711);
  CHECK(core.threads()[0].name.empty());
  CHECK(core.threads()[1].name == "service");  // the thread that ended the process
  CHECK(core.threads()[1].registers->stack_pointer == RemoteAddr{kHeap + 8});
  CHECK(core.threads()[1].registers->instruction_pointer == RemoteAddr{0x401000});
  CHECK(opened.text_at(kHeap + kPage - 3) == "hhh");
  CHECK(opened.text_at(kHeap + kPage) == "(fault)");
  CHECK(opened.text_at(0) == "(fault)");
  CHECK(core.stored_bytes() == kPage);
  CHECK(core.missing_bytes() == 0);
  CHECK(core.faults().empty());
}

TEST_CASE("a core file has the page size of the machine that it comes from") {
  CHECK((*Opened(small_core().page_bytes(65536).text())).map().page_bytes() == 65536);
  const std::uint64_t ours = page_bytes();
  CHECK((*Opened(small_core().text())).map().page_bytes() == ours);
  for (const std::uint64_t impossible : {0U, 512U, 4097U}) {
    CHECK((*Opened(small_core().page_bytes(impossible).text())).map().page_bytes() == ours);
  }
}

TEST_CASE("a core file has the vector registers of the thread that precedes them") {
  CoreBuilder builder = small_core();
  builder.thread(4714, kHeap);
  std::string saved(512, '\0');
  saved[160] = 'x';  // of xmm0
  builder.note(NT_PRFPREG, saved);
  Opened opened(builder.text());
  REQUIRE((*opened).threads().size() == 3);
  CHECK((*opened).threads()[0].vector_registers.empty());
  CHECK((*opened).threads()[2].vector_registers == std::vector<std::uint64_t>{'x'});
}

TEST_CASE("memory and mapped files make one map, even where gcore leaves parts out") {
  CoreBuilder builder = small_core();
  builder.program_headers_at(kProgram + 64)
      .files({{kProgram, kProgram + kPage, 0, "/srv/app"},
              {kProgram + kPage, kProgram + 3 * kPage, 1, "/srv/app"},
              {kProgram + 3 * kPage, kProgram + 4 * kPage, 3, "/srv/app"},
              {0x500000, 0x501000, 0, "/srv/data"},
              {0x600000, 0x601000, 0, "/srv/old (deleted)"},
              {0x601000, 0x602000, 1, "/srv/old (deleted)"}});
  builder.memory(kProgram, kPage, "\177ELF", PF_R);
  builder.memory(kProgram + 3 * kPage, kPage, std::string(kPage, 'd'));
  Opened opened(builder.text());
  const CoreFile& core = *opened;
  CHECK(core.program() == "/srv/app");
  const auto& mappings = core.map().mappings();
  REQUIRE(mappings.size() == 7);
  CHECK(std::is_sorted(mappings.begin(), mappings.end(),
                       [](const Mapping& a, const Mapping& b) { return a.range < b.range; }));
  // No segment describes this part, but the file begins as a program does, so the part is code.
  const Mapping* const code = core.map().find(RemoteAddr{kProgram + kPage});
  REQUIRE(code != nullptr);
  CHECK(code->range == Range{RemoteAddr{kProgram + kPage}, 2 * kPage});
  CHECK(code->executable);
  CHECK_FALSE(code->writable);
  CHECK(code->file_offset == kPage);
  CHECK(code->inode == mappings[0].inode);
  const Mapping* const data = core.map().find(RemoteAddr{kProgram + 3 * kPage});
  CHECK(data->writable);
  CHECK(data->path == "/srv/app");
  // A file of which the core file has nothing counts as data if it is mapped once, and as a program
  // if it is mapped twice.
  CHECK_FALSE(core.map().find(RemoteAddr{0x500000})->executable);
  CHECK(core.map().find(RemoteAddr{0x600000})->executable);
  CHECK(core.map().find(RemoteAddr{0x600000})->path == "/srv/old");
  CHECK(core.map().find(RemoteAddr{0x600000})->is_deleted);
  CHECK(core.map().find(RemoteAddr{kHeap})->is_anonymous());
}

TEST_CASE("memory that a core file omits is read from the file lent for it") {
  CoreBuilder builder = small_core();
  builder.memory(kProgram, 2 * kPage, "core", PF_R | PF_X);
  Opened opened(builder.text());
  const std::string file = opened.directory.file("app");
  std::ofstream(file) << "file, from its beginning";
  const Fd fd = Fd::open(file, O_RDONLY).value();
  CHECK(opened.text_at(kProgram + 4) == "(fault)");
  REQUIRE((*opened).lend({RemoteAddr{kProgram}, 2 * kPage}, fd, 2));
  CHECK(opened.text_at(kProgram) == "core");
  CHECK(opened.text_at(kProgram + 4) == "from its beginning");
  CHECK(opened.text_at(kProgram + 100) == "(fault)");  // past the end of the file
  // A second file that is lent for the same memory is not used.
  REQUIRE((*opened).lend({RemoteAddr{kProgram + kPage}, kPage}, fd, 0));
  CHECK(opened.text_at(kProgram + kPage) == "(fault)");
}

TEST_CASE("a core file that ends early shows how much is missing, and the rest can be read") {
  const std::string text =
      small_core().memory(kHeap + kPage, kPage, std::string(kPage, 'x')).text();
  Opened opened(text.substr(0, text.size() - kPage - 100));
  CHECK((*opened).missing_bytes() == kPage + 100);
  CHECK(opened.text_at(kHeap + kPage - 104) == "hhhh");
  CHECK(opened.text_at(kHeap + kPage) == "(fault)");
  CHECK((*opened).map().find(RemoteAddr{kHeap + kPage}) != nullptr);
}

TEST_CASE("a core file can have more pieces of memory than its header can count") {
  CoreBuilder builder = small_core();
  constexpr std::uint64_t kCount = 70'000;
  for (std::uint64_t i = 1; i < kCount; ++i) builder.memory(kHeap + 2 * i * kPage, kPage, "");
  builder.memory(kHeap + 2 * kCount * kPage, kPage, "last");
  Opened opened(builder.text());
  CHECK((*opened).map().mappings().size() == kCount + 1);
  CHECK(opened.text_at(kHeap + 2 * kCount * kPage) == "last");
}

TEST_CASE("a core file of aarch64 shows its threads on any machine") {
  std::array<std::uint64_t, 33> registers{};
  for (std::size_t i = 0; i < registers.size(); ++i) registers[i] = 0x100 + i;
  CoreBuilder core;
  core.machine(EM_AARCH64).process(4711, "service").thread_of_aarch64(4711, registers);
  core.note(NT_FPREGSET, CoreBuilder::words({0, 7, 0, 8}));
  core.note(NT_ARM_TLS, CoreBuilder::words({kHeap + 0x20}), "LINUX");
  core.note(NT_X86_XSTATE, std::string(700, 'x'), "LINUX");  // a note of another processor
  core.memory(kHeap, kPage, std::string(kPage, 'h'));
  Opened opened(core.text());
  CHECK((*opened).machine() == EM_AARCH64);
  REQUIRE((*opened).threads().size() == 1);
  const FrozenThread& thread = (*opened).threads()[0];
  REQUIRE(thread.registers);
  REQUIRE(thread.registers->general.size() == 31);
  CHECK(thread.registers->general[0] == 0x100);  // x0
  CHECK(thread.registers->general[30] == 0x11e);
  CHECK(thread.registers->stack_pointer == RemoteAddr{0x11f});
  CHECK(thread.registers->instruction_pointer == RemoteAddr{0x120});
  CHECK(thread.registers->thread_pointer == RemoteAddr{kHeap + 0x20});
  CHECK_FALSE(thread.registers->system_call);
  CHECK(thread.vector_registers == std::vector<std::uint64_t>{7, 8});
}

TEST_CASE("a thread of aarch64 without all its registers is left out") {
  CoreBuilder core;
  core.machine(EM_AARCH64).process(4711, "service").thread(4711, kHeap + 16);
  core.memory(kHeap, kPage, std::string(kPage, 'h'));
  CHECK(Opened(core.text()).error_kind() == ErrorKind::Malformed);
}

TEST_CASE("a file that is not a core file is refused by its kind") {
  std::string text = small_core().text();
  const auto poke = [&text](std::size_t at, int value) { text[at] = static_cast<char>(value); };
  ErrorKind kind = ErrorKind::Unsupported;
  SUBCASE("a library") {
    poke(16, ET_DYN);
    kind = ErrorKind::Malformed;
  }
  SUBCASE("an object file") {
    poke(16, ET_REL);
    kind = ErrorKind::Malformed;
  }
  SUBCASE("for another machine") {
    poke(18, static_cast<char>(EM_RISCV));
  }
  SUBCASE("of 32 bits") {
    poke(EI_CLASS, ELFCLASS32);
  }
  SUBCASE("in the other byte order") {
    poke(EI_DATA, ELFDATA2MSB);
  }
  SUBCASE("not an ELF file") {
    poke(0, 'x');
    kind = ErrorKind::Malformed;
  }
  SUBCASE("it ends in its header") {
    text.resize(40);
    kind = ErrorKind::Malformed;
  }
  SUBCASE("it ends in its list of memory") {
    text.resize(100);
    kind = ErrorKind::Malformed;
  }
  SUBCASE("it has no notes") {
    text.resize(64 + 2 * sizeof(Elf64_Phdr));
    kind = ErrorKind::Malformed;
  }
  SUBCASE("its list is nowhere") {
    poke(39, 0x7f);  // of e_phoff
    kind = ErrorKind::Malformed;
  }
  SUBCASE("its headers have another size") {
    poke(54, 1);
    kind = ErrorKind::Malformed;
  }
  Opened opened(text);
  CHECK(opened.error_kind() == kind);
}

TEST_CASE("impossible entries in a core file are skipped, and the rest is read") {
  CoreBuilder builder = small_core();
  SUBCASE("memory over other memory") {
    builder.memory(kHeap + 100, kPage, "over it");
  }
  SUBCASE("memory that wraps") {
    builder.memory(kHeap + kPage, ~std::uint64_t{0}, "over it");
  }
  SUBCASE("memory of the kernel") {
    builder.memory(0xffffffffff600000, kPage, "over it");
  }
  SUBCASE("no memory") {
    builder.memory(kHeap + kPage, 0, "over it");
  }
  SUBCASE("a note that is cut off") {
    builder.note(NT_PRSTATUS, "short");
  }
  SUBCASE("a thread without number") {
    builder.thread(0, kHeap);
  }
  SUBCASE("a thread twice") {
    builder.thread(4711, kHeap);
  }
  SUBCASE("a thread below zero") {
    builder.thread(-5, kHeap);
  }
  SUBCASE("files without number") {
    builder.note(NT_FILE, "x");
  }
  SUBCASE("more files than there can be") {
    builder.note(NT_FILE, CoreBuilder::words({~std::uint64_t{0}, 4096}));
  }
  SUBCASE("files without names") {
    builder.note(NT_FILE, CoreBuilder::words({1, 4096, kProgram, kProgram + kPage, 0}));
  }
  SUBCASE("pages of no size") {
    builder.note(NT_FILE, CoreBuilder::words({1, 0, kProgram, kProgram + kPage, 0}) + "/a" + '\0');
  }
  SUBCASE("a file that ends before it begins") {
    builder.files({{kProgram, 4096, 0, "/a"}});
  }
  SUBCASE("a file beyond all addresses") {
    builder.files({{kProgram, ~0ULL, 0, "/a"}});
  }
  SUBCASE("a file without an offset") {
    builder.files({{kProgram, kProgram + 1, ~0ULL, "/a"}});
  }
  SUBCASE("an auxiliary vector that is cut off") {
    builder.note(NT_AUXV, "12345678901");
  }
  SUBCASE("a second process") {
    builder.process(815, "other");
  }
  Opened opened(builder.text());
  CHECK((*opened).pid() == 4711);
  CHECK((*opened).threads().size() == 2);
  CHECK((*opened).map().mappings().size() == 1);
  CHECK((*opened).program().empty());
  CHECK(opened.text_at(kHeap + kPage - 4) == "hhhh");
  CHECK(opened.text_at(kHeap + kPage) == "(fault)");
}

}  // namespace heapattach
