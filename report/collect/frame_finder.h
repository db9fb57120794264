#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "symbols/types/type_model.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::snapshot {

// Finds the frame and the variable that contain a word on a stack or in a register. Borrows
// `stacks` and `types`.
class FrameFinder {
 public:
  FrameFinder(const unwind::Stacks& stacks, const types::TypeModel& types);

  struct Found {
    std::uint32_t frame = 0;  // an index into the stack's record
    std::string variable;     // empty: unknown
    // The variable's function, as an index into Place::inlined, if it is not the frame's own
    // function.
    std::optional<std::uint32_t> inlined;
    bool is_below = false;  // the word is below the thread's stack pointer
  };
  // Looks up the word `word` at address `at`. `thread` is 0 for the stack of a suspended fiber. A
  // register saved by an inner frame counts as a variable of the frame to which the register
  // belongs.
  [[nodiscard]] std::optional<Found> at(pid_t thread,
                                        std::uint64_t fiber,
                                        RemoteAddr at,
                                        std::uint64_t word) const;
  // The variable that is in a register of this thread and has the value `word`.
  [[nodiscard]] std::optional<Found> in_register(pid_t thread, std::uint64_t word) const;

 private:
  using Owner = std::pair<pid_t, std::uint64_t>;
  struct InMemory {
    std::uint32_t frame = 0;
    RemoteAddr start;
    std::uint64_t bytes = 0;
    const types::Variable* variable = nullptr;
  };
  struct InRegister {
    std::uint64_t word = 0;
    std::uint32_t frame = 0;
    const types::Variable* variable = nullptr;
  };
  struct Part {
    RemoteAddr start;
    std::uint32_t frame = 0;
  };
  struct OneStack {
    const unwind::StackRecord* record = nullptr;
    std::vector<Part> parts;              // the starts of the frames, by address
    std::vector<InMemory> in_memory;      // by frame and address
    std::vector<InRegister> in_register;  // by word and frame
  };

  [[nodiscard]] static const types::Variable* variable_at(const OneStack& stack,
                                                          std::uint32_t frame,
                                                          RemoteAddr at);
  [[nodiscard]] static std::optional<std::uint32_t> frame_around(const OneStack& stack,
                                                                 RemoteAddr at);
  [[nodiscard]] Found found(const OneStack& stack,
                            std::uint32_t frame,
                            const types::Variable* variable) const;

  const unwind::Stacks& stacks_;
  std::map<Owner, OneStack> by_owner_;
};

}  // namespace heapattach::snapshot
