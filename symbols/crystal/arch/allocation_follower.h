#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/crystal/arch/allocation_sites.h"

namespace heapattach::crystal {

// The contents of a register or a stack slot.
struct Value {
  enum class Form : std::uint8_t { Unknown, Constant, Static, Fresh, Frame };
  Form form = Form::Unknown;
  std::uint64_t number =
      0;  // the constant or address, or the offset in the object or from the first stack pointer
  std::size_t object = 0;  // Fresh: which one

  [[nodiscard]] bool is(Form f) const { return form == f; }
};

// Follows constants and new objects through one function, whose instructions a class for each
// processor decodes.
//
// The code is read in address order, with a value for each register and stack slot: a constant, the
// address of one, an address in a fresh object or on the stack, or unknown. At jump targets, paths
// meet: there the registers become unknown, and only those stack slots keep their value that the
// function writes at one location, which a first round over the code finds. A constant stored at
// the start of a fresh object is its id, if no other constant but zero is ever stored there.
class AllocationFollower {
 public:
  // The registers of a processor, by their numbers.
  struct Registers {
    unsigned stack_pointer;
    unsigned frame_pointer;
    unsigned first_argument;
    unsigned result;
    std::span<const unsigned> caller_saved;
  };

  AllocationFollower(Range code,
                     const CallTarget& target,
                     const ConstantAt& constant,
                     const Registers& names);

 protected:
  static constexpr unsigned kMostRegisters = 32;

  // The sites, once `round` has decoded all instructions. A function with jumps needs a second
  // round, for which the first has seen every jump and every slot.
  [[nodiscard]] std::vector<AllocationSite> in_rounds(const std::function<void()>& round);
  // Call it before each instruction. True if control may come to `at` from elsewhere.
  bool meet(std::uint64_t at);
  // The contents of memory at `address`.
  [[nodiscard]] Value load(const Value& address, unsigned bytes) const;
  void store(const Value& address, Value value, unsigned bytes);
  // A call that returns to `after`. None if the function is unknown.
  void call(std::optional<RemoteAddr> callee, RemoteAddr after);
  // None if the code does not show where to: a table of cases within the function, or an allocator
  // that is not a site.
  void jump(std::optional<RemoteAddr> to, bool is_conditional);
  void leave(Value result);
  // A value from which only the lower 4 bytes are used.
  [[nodiscard]] static Value lower_half(Value value);
  void note_frame();

  std::array<Value, kMostRegisters> registers_{};
  std::unordered_map<std::uint64_t, Value> slots_;

 private:
  // A fresh object, and what the function has done with it so far.
  struct Fresh {
    std::uint64_t bytes = 0;
    Allocator allocator = Allocator::Normal;
    std::uint32_t id = 0;  // 0: not stored yet
    bool is_certain = true;
    RemoteAddr allocator_at = {};
    RemoteAddr made_at = {};
  };

  void forget_registers();
  void begin_second_round();
  [[nodiscard]] std::vector<AllocationSite> sites() const;

  Range code_;
  const CallTarget& target_;
  const ConstantAt& constant_;
  const Registers& names_;
  std::vector<Fresh> fresh_;
  std::unordered_map<std::uint64_t, int> slot_writers_;
  std::unordered_set<std::uint64_t> labels_;
  std::optional<std::size_t> returned_;  // the object that every return so far has returned
  int returns_ = 0;
  std::int64_t frame_ = 0;  // the lowest stack pointer so far: that of the function's body
  bool is_first_round_ = true;
  bool is_after_jump_ = false;
};

}  // namespace heapattach::crystal
