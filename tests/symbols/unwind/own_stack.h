#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <link.h>
#include <ucontext.h>

#include "symbols/elf/module.h"
#include "symbols/unwind/arch/machine_state.h"

// The modules and registers of the test program, which plays the target.
namespace heapattach::unwind {

// The test program and the libraries that it is linked with, as if they were a target's.
inline const Modules& own_modules() {
  static const Modules own = [] {
    std::vector<Module> modules;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
          const std::string path = *info->dlpi_name == '\0' ? "/proc/self/exe" : info->dlpi_name;
          auto file = Fd::open(path, O_RDONLY);
          if (!file) return 0;
          auto module = Module::from_file(std::move(file).value(), path, info->dlpi_addr);
          if (module) static_cast<std::vector<Module>*>(into)->push_back(std::move(module).value());
          return 0;
        },
        &modules);
    return Modules(std::move(modules));
  }();
  return own;
}

inline MachineState state_of(const ucontext_t& context) {
  const auto at = [&](int number) {
    return static_cast<std::uint64_t>(context.uc_mcontext.gregs[number]);
  };
  Registers registers;
  registers.general = {at(REG_RAX), at(REG_RBX), at(REG_RCX), at(REG_RDX), at(REG_RSI),
                       at(REG_RDI), at(REG_RBP), at(REG_R8),  at(REG_R9),  at(REG_R10),
                       at(REG_R11), at(REG_R12), at(REG_R13), at(REG_R14), at(REG_R15)};
  registers.instruction_pointer = {at(REG_RIP)};
  registers.stack_pointer = {at(REG_RSP)};
  return MachineState(kOwnProcessor, registers);
}

}  // namespace heapattach::unwind
