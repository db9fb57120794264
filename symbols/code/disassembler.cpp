#include "symbols/code/disassembler.h"

#include <algorithm>
#include <new>

#include "attach/arch/processors.h"
#include "symbols/code/arch/decoders.h"

namespace heapattach {

Disassembler::Handle::~Handle() {
  if (value != 0) cs_close(&value);
}

Result<Disassembler> Disassembler::open(std::uint16_t machine) {
  const auto* const decoder =
      std::find_if(kDecoders.begin(), kDecoders.end(),
                   [machine](const Decoder& one) { return one.machine == machine; });
  if (decoder == kDecoders.end()) return Error{ErrorKind::Unsupported, kForeignFile};
  auto handle = std::make_unique<Handle>();
  cs_err failure = cs_open(decoder->family, decoder->mode, &handle->value);
  if (failure == CS_ERR_OK) failure = cs_option(handle->value, CS_OPT_DETAIL, CS_OPT_ON);
  if (failure != CS_ERR_OK) return Error{ErrorKind::Unsupported, cs_strerror(failure)};
  cs_insn* instruction = cs_malloc(handle->value);
  if (instruction == nullptr) throw std::bad_alloc();
  return Disassembler(machine, std::move(handle), instruction);
}

const cs_insn* Disassembler::decode(std::span<const std::byte> code, RemoteAddr at) const {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
  std::size_t size = code.size();
  std::uint64_t address = at.value;
  if (!cs_disasm_iter(handle_->value, &bytes, &size, &address, instruction_.get())) return nullptr;
  return instruction_.get();
}

}  // namespace heapattach
