#include "inject/trace/arch/move_entry.h"

#include "attach/arch/processors.h"

namespace heapattach::trace {

Result<MovedEntry> move_entry(const Disassembler& disassembler,
                              std::span<const std::byte> function,
                              RemoteAddr entry,
                              RemoteAddr to) {
  if (disassembler.machine() == EM_AARCH64) return move_entry_of_aarch64(function, entry, to);
  return move_entry_of_x86_64(disassembler, function, entry, to);
}

}  // namespace heapattach::trace
