#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <capstone/capstone.h>

#include "attach/base/remote_addr.h"
#include "attach/base/result.h"

namespace heapattach {

// Decodes the instructions of one processor, with operands.
class Disassembler {
 public:
  // For code of the ELF files that say `machine`. Unsupported if we do not know that processor.
  static Result<Disassembler> open(std::uint16_t machine);
  [[nodiscard]] std::uint16_t machine() const { return machine_; }

  // The instruction at the start of `code`, which is loaded at `at`; null if there is none. Valid
  // until the next call.
  [[nodiscard]] const cs_insn* decode(std::span<const std::byte> code, RemoteAddr at) const;

  [[nodiscard]] csh handle() const { return handle_->value; }

 private:
  struct Handle {
    csh value = 0;
    Handle() = default;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle();
  };
  struct FreeInstruction {
    void operator()(cs_insn* instruction) const noexcept { cs_free(instruction, 1); }
  };
  Disassembler(std::uint16_t machine, std::unique_ptr<Handle> handle, cs_insn* instruction) noexcept
      : machine_(machine), handle_(std::move(handle)), instruction_(instruction) {}

  std::uint16_t machine_;
  std::unique_ptr<Handle> handle_;
  std::unique_ptr<cs_insn, FreeInstruction> instruction_;  // reused by each decode
};

}  // namespace heapattach
