#include "inject/leftovers.h"

#include <cstring>

#include <doctest/doctest.h>
#include <elf.h>

#include "inject/arch/stub.h"
#include "inject/in_place.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

constexpr RemoteAddr kModule{0x400000};
constexpr RemoteAddr kPadding{0x400840};
constexpr RemoteAddr kStack{0x7f0000000000};
constexpr std::uint64_t kStackSize = 0x40000;
constexpr RemoteAddr kStackPointer = kStack + 0x30000;  // of the borrowed thread

// A module of one page, and one stack.
struct Left {
  Left() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_filesz = segment.p_memsz = 0x801;
    memory.map_zero(kModule, 0x1000);
    memory.put(kModule, header);
    memory.put(kModule + sizeof header, segment);
    memory.map_zero(kStack, kStackSize);
    Mapping code{
        .range = {kModule, 0x1000}, .readable = true, .executable = true, .path = "/bin/x"};
    code.inode = 5;
    const Mapping stack{
        .range = {kStack, kStackSize}, .readable = true, .writable = true, .path = "[stack]"};
    map = MemoryMap({code, stack});
    way_back.rsp = kStackPointer.value;
    way_back.rip = 0x400123;
  }
  void put(RemoteAddr at, const std::vector<std::byte>& image) { memory.put_bytes(at, image); }
  [[nodiscard]] bool is_used(const FrozenThread& thread) const {
    const auto stubs = left_stubs(map, memory);
    REQUIRE(stubs.size() == 1);
    return is_in_use(stubs[0], {{thread}, {}}, map, memory);
  }

  FakeMemory memory;
  MemoryMap map;
  RawRegisters way_back{};
};

FrozenThread at(RemoteAddr instruction, RemoteAddr stack) {
  FrozenThread thread;
  thread.registers.emplace();
  thread.registers->instruction_pointer = instruction;
  thread.registers->stack_pointer = stack;
  return thread;
}

constexpr RemoteAddr kElsewhere{0x400100};

}  // namespace

TEST_CASE("a leftover stub is found by its code, with the stack that it was for") {
  Left left;
  left.put(kPadding + 64, Stub::image(kPadding + 64, left.way_back, 0, 3));
  const auto stubs = left_stubs(left.map, left.memory);
  REQUIRE(stubs.size() == 1);
  CHECK(stubs[0].range == Range{kPadding + 64, Stub::size_bytes()});
  CHECK(stubs[0].stack == kStackPointer);
}

TEST_CASE("a stub with the code for a function in front is found as a whole") {
  Left left;
  left.put(kPadding, Stub::function_image(kPadding, left.way_back, 0));
  const auto stubs = left_stubs(left.map, left.memory);
  REQUIRE(stubs.size() == 1);
  CHECK(stubs[0].range == Range{kPadding, in_place_bytes()});
}

TEST_CASE("code that is not exactly a stub is left alone") {
  Left left;
  auto image = Stub::image(kPadding, left.way_back, 0, 3);
  SUBCASE("another instruction") {
    image[7] ^= std::byte{1};
  }
  SUBCASE("only a part of one") {
    image.resize(100);
  }
  left.put(kPadding, image);
  CHECK(left_stubs(left.map, left.memory).empty());
}

TEST_CASE("a stub is in use while a thread is in it or may return to it") {
  Left left;
  left.put(kPadding, Stub::image(kPadding, left.way_back, 0, 3));
  CHECK(!left.is_used(at(kElsewhere, kStackPointer)));
  CHECK(left.is_used(at(kPadding + 8, kStackPointer)));
  CHECK(left.is_used(FrozenThread{}));  // a thread that could not be stopped
  SUBCASE("from a signal handler on another stack") {
    const RemoteAddr handler = kStack + 0x1000;
    left.memory.put(handler + 0x200, (kPadding + 20).value);
    CHECK(left.is_used(at(kElsewhere, handler)));
    CHECK(!left.is_used(at(kElsewhere, handler + 0x208)));
  }
  SUBCASE("from a function that it called") {
    left.memory.put(kStackPointer - 0x400, (kPadding + 40).value);
    CHECK(left.is_used(at(kElsewhere, kStackPointer - 0x500)));
    CHECK(!left.is_used(at(kElsewhere, kStackPointer)));
  }
  SUBCASE("from a function that has moved to another stack") {
    left.memory.put(kStackPointer - 0x400, (kPadding + 40).value);
    CHECK(left.is_used(at(kElsewhere, kStack + 0x38)));
  }
}

}  // namespace heapattach
