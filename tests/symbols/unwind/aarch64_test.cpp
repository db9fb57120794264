// Walks stacks of aarch64, on any machine.

#include <array>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/unwind/arch/return_addresses.h"
#include "symbols/unwind/arch/signal_return.h"
#include "symbols/unwind/arch/stubs.h"
#include "symbols/unwind/unwind.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::unwind {

namespace {

constexpr std::uint64_t kFileBytes = 4096;
constexpr std::uint64_t kBias = 0xaaaa00000000;
constexpr std::uint64_t kCodeAt = 0x400;
constexpr RemoteAddr kCode{kBias + kCodeAt};
constexpr RemoteAddr kStack{0xffffc0000000};
constexpr std::uint64_t kSigned = std::uint64_t{0x2b} << 48U;  // signature of a return address

// A program whose code is these instructions, at kCode.
Modules program(const std::vector<std::uint32_t>& code) {
  Fd file(memfd_create("aarch64", MFD_CLOEXEC));
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_AARCH64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr whole{};
  whole.p_type = PT_LOAD;
  whole.p_flags = PF_R | PF_X;
  whole.p_filesz = whole.p_memsz = kFileBytes;
  whole.p_align = kFileBytes;
  const auto put = [&](std::uint64_t at, const void* bytes, std::size_t size) {
    REQUIRE(pwrite(file.get(), bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size));
  };
  REQUIRE(ftruncate(file.get(), kFileBytes) == 0);
  put(0, &header, sizeof header);
  put(sizeof header, &whole, sizeof whole);
  put(kCodeAt, code.data(), code.size() * sizeof code[0]);
  auto module = Module::from_file(std::move(file), "/srv/aarch64", kBias);
  REQUIRE(module);
  std::vector<Module> modules;
  modules.push_back(std::move(*module));
  return Modules(std::move(modules));
}

MachineState state_at(RemoteAddr pc, RemoteAddr sp, std::uint64_t frame_pointer) {
  MachineState state(EM_AARCH64);
  state.set_pc(pc.value);
  state.set_sp(sp.value);
  state.set_frame_pointer(frame_pointer);
  return state;
}

constexpr std::uint32_t kNop = 0xd503201f;

}  // namespace

TEST_CASE("aarch64: a frame pointer leads to a return address, which may be signed") {
  const Modules modules = program({kNop, 0x94000000, kNop, kNop});  // the second one is a call
  ModuleDebugs debugs(modules);
  FakeMemory memory;
  memory.map_zero(kStack, 0x1000);
  memory.put(kStack + 0x100, kStack.value + 0x200);
  SUBCASE("plain") {
    memory.put(kStack + 0x108, kCode.value + 8);
  }
  SUBCASE("signed") {
    memory.put(kStack + 0x108, kSigned | (kCode.value + 8));
  }
  const auto walked =
      Unwinder(debugs, memory)
          .walk(state_at(kCode, kStack, kStack.value + 0x100), true, {.innermost = 4});
  REQUIRE(walked.frames.size() >= 2);
  CHECK(walked.frames[1].pc() == kCode + 7);
  CHECK(walked.frames[1].found_by == FoundBy::FramePointer);
  CHECK(walked.frames[1].state.frame_pointer() == kStack.value + 0x200);
}

TEST_CASE("aarch64: the code that a handler returns to has the interrupted registers") {
  // nop; mov x8, #139; svc #0
  const Modules modules = program({kNop, 0xd2801168, 0xd4000001, kNop});
  ModuleDebugs debugs(modules);
  FakeMemory memory;
  memory.map_zero(kStack, 0x1000);
  constexpr std::uint64_t kRegistersAt = 128 + 176 + 8;  // after siginfo_t, in ucontext_t
  for (std::uint64_t i = 0; i < 31; ++i) memory.put(kStack + kRegistersAt + 8 * i, 100 + i);
  memory.put(kStack + kRegistersAt + std::uint64_t{31} * 8, kStack.value + 0x800);
  memory.put(kStack + kRegistersAt + std::uint64_t{32} * 8, kCode.value + 12);
  const auto walked =
      Unwinder(debugs, memory).walk(state_at(kCode + 4, kStack, 0), true, {.innermost = 4});
  REQUIRE(walked.frames.size() == 2);
  const Frame& interrupted = walked.frames[1];
  CHECK(interrupted.found_by == FoundBy::SignalFrame);
  CHECK(interrupted.pc() == kCode + 12);  // not one before: the code made no call
  CHECK(interrupted.state.sp() == kStack.value + 0x800);
  CHECK(interrupted.state.at(0) == 100);
  CHECK(interrupted.state.at(30) == 130);
}

TEST_CASE("aarch64: what is before a return address is a call, direct or not") {
  // bl -4; blr x1; blraa x1, sp; b .; ret
  const Modules modules = program({0x97ffffff, 0xd63f0020, 0xd73f083f, 0x14000000, 0xd65f03c0});
  const Module& module = modules.all()[0];
  const auto direct = call_before(module, kCode + 4);
  REQUIRE(direct);
  CHECK(direct->target == kCode - 4);
  const auto indirect = call_before(module, kCode + 8);
  REQUIRE(indirect);
  CHECK_FALSE(indirect->target);
  CHECK(call_before(module, kCode + 12));
  CHECK_FALSE(call_before(module, kCode + 16));
  CHECK_FALSE(call_before(module, kCode + 20));
  CHECK_FALSE(call_before(module, kCode + 6));  // no instruction ends there
}

TEST_CASE("aarch64: a stub names the word that it jumps through") {
  // [bti c;] adrp x16, +0x1f000; ldr x17, [x16, #8]; add x16, x16, #8; br x17
  const std::array<std::uint32_t, 4> stub{0xf00000f0, 0xf9400611, 0x91002210, 0xd61f0220};
  const auto target = stub_target(EM_AARCH64, std::as_bytes(std::span(stub)), 0x5a0);
  REQUIRE(target.word);
  CHECK(0x5a0 + *target.word == 0x1f008);
  const std::array<std::uint32_t, 5> marked{0xd503245f, 0xf00000f0, 0xf9400611, 0x91002210,
                                            0xd61f0220};
  const auto same = stub_target(EM_AARCH64, std::as_bytes(std::span(marked)), 0x5a0);
  REQUIRE(same.word);
  CHECK(0x5a0 + *same.word == 0x1f008);
  CHECK_FALSE(stub_target(EM_AARCH64, std::as_bytes(std::span(stub)).subspan(4), 0x5a0).word);
  CHECK(is_word_of_stub(EM_AARCH64, R_AARCH64_JUMP_SLOT));
}

TEST_CASE("aarch64: a suspended fiber continues at the address that it has saved") {
  FakeMemory memory;
  const RemoteAddr at{0x7000};
  for (std::uint64_t i = 0; i < 22; ++i) memory.put(at + 8 * i, 100 + i);
  const auto state = suspended_fiber(memory, at, EM_AARCH64);
  REQUIRE(state);
  CHECK(state->pc() == 108);
  CHECK(state->frame_pointer() == 109);
  CHECK(state->at(28) == 110);
  CHECK(state->at(19) == 119);
  CHECK(state->sp() == 0x7000 + 22 * 8);
  CHECK_FALSE(state->at(0));
}

TEST_CASE("aarch64: a thread's registers have DWARF's numbers") {
  Registers registers;
  std::array<std::uint64_t, 31> general{};
  for (std::size_t i = 0; i < general.size(); ++i) general[i] = 100 + i;
  registers.general = GeneralRegisters(general);
  registers.stack_pointer = RemoteAddr{0x5000};
  registers.instruction_pointer = RemoteAddr{0x6000};
  const MachineState state(EM_AARCH64, registers);
  CHECK(state.at(0) == 100);
  CHECK(state.at(30) == 130);
  CHECK(state.at(31) == 0x5000);
  CHECK(state.pc() == 0x6000);
}

}  // namespace heapattach::unwind
