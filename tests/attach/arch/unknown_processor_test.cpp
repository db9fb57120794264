// What is true of one processor is not taken for another: of an unknown one, nothing is known.

#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <elf.h>

#include "attach/arch/core_registers.h"
#include "attach/arch/red_zone.h"
#include "attach/arch/register_names.h"
#include "attach/arch/thread_data.h"

namespace heapattach {

TEST_CASE("of an unknown processor, no register and no place in memory is known") {
  CHECK(red_zone_bytes(EM_RISCV) == 0);
  CHECK(thread_data(EM_RISCV) == nullptr);
  CHECK(register_names(EM_RISCV).empty());
  CHECK(core_register_bytes(EM_RISCV) == 0);
  std::array<std::byte, 512> saved{};
  saved.fill(std::byte{0x7f});
  const Registers registers = core_registers(EM_RISCV, saved);
  const auto is_set = [](std::uint64_t word) { return word != 0; };
  const std::span<const std::uint64_t> general = registers.general;
  CHECK(std::none_of(general.begin(), general.end(), is_set));
  CHECK(registers.instruction_pointer == RemoteAddr{});
  CHECK(registers.thread_pointer == RemoteAddr{});
  constexpr std::array<std::uint32_t, 3> kNotes{NT_FPREGSET, NT_X86_XSTATE, NT_ARM_TLS};
  for (const std::uint32_t type : kNotes) {
    CHECK(core_vector_words(EM_RISCV, type == NT_FPREGSET ? "CORE" : "LINUX", type, saved).empty());
    CHECK_FALSE(core_thread_pointer(EM_RISCV, "LINUX", type, saved));
  }
}

TEST_CASE("the two known processors differ in what a thread's stack and pointer have") {
  CHECK(red_zone_bytes(EM_X86_64) == 128);
  CHECK(red_zone_bytes(EM_AARCH64) == 0);
  CHECK(register_names(EM_X86_64).size() == 15);
  CHECK(register_names(EM_AARCH64).size() == 31);
  CHECK(thread_data(EM_X86_64)->number_at == 0x2d0);
  CHECK(thread_data(EM_AARCH64)->number_at == 0xd0);
  CHECK(thread_data(EM_X86_64)->self_at == kThreadSelfAt);
  CHECK_FALSE(thread_data(EM_AARCH64)->self_at);
}

}  // namespace heapattach
