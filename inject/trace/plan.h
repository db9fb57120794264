#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/process/process.h"
#include "inject/trace/arch/layout.h"
#include "inject/trace/hooks.h"
#include "symbols/code/disassembler.h"

namespace heapattach::trace {

// An instruction of a function's entry, the first or second one, that becomes a jump.
struct PlannedJump {
  std::string name;
  RemoteAddr at;
  std::vector<std::byte> original;  // all bytes that move
  std::vector<std::byte> jump;      // replaces the first bytes of `original`
};

// A plan of the changes to the target. It is made while the target runs, so that the stops are
// short, and each of its facts is checked again in a stop.
struct Plan {
  // Returns Impossible with the reason if the changes would be a risk.
  static Result<Plan> make(const Process& target,
                           const MemoryReader& memory,
                           const Hooks& hooks,
                           std::uint64_t ring_bytes);

  [[nodiscard]] Range code() const;  // with the control pages
  [[nodiscard]] Range control() const;
  [[nodiscard]] Range ring() const;  // with both copies of the records

  BlobHead head{};
  std::vector<PlannedJump> jumps;
  std::vector<std::byte> image;  // the bytes of the code, with the head
  std::uint64_t handler = 0;     // the event handler that the target had
};

// Returns an error that says why an entry cannot become a jump; success if it can. For --check.
Result<void> check_entry(const Disassembler& disassembler, const Entry& entry);

// The function that the collector calls for events; 0 if there is none.
Result<std::uint64_t> event_handler(const Hooks& hooks, const MemoryReader& memory);

// An error of the kind Impossible, with advice.
[[nodiscard]] Error impossible(std::string why);

}  // namespace heapattach::trace
