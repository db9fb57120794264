#include "inject/trace/arch/move_entry.h"

#include <array>

#include <elf.h>

#include "attach/arch/by_processor.h"

namespace heapattach::trace {

namespace {

struct Mover {
  std::uint16_t machine;
  decltype(&move_entry) move;
};
constexpr std::array kMovers{
    Mover{EM_X86_64, &move_entry_of_x86_64},
    Mover{EM_AARCH64, [](const Disassembler& /*disassembler*/,
                         std::span<const std::byte> function,
                         RemoteAddr entry,
                         RemoteAddr to) { return move_entry_of_aarch64(function, entry, to); }}};

}  // namespace

Result<MovedEntry> move_entry(const Disassembler& disassembler,
                              std::span<const std::byte> function,
                              RemoteAddr entry,
                              RemoteAddr to) {
  const Mover* const mover = row_for(kMovers, disassembler.machine());
  if (mover != nullptr) return mover->move(disassembler, function, entry, to);
  return Error{ErrorKind::Impossible, "the instructions of this processor are unknown"};
}

}  // namespace heapattach::trace
