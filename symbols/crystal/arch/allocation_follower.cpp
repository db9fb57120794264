#include "symbols/crystal/arch/allocation_follower.h"

#include <algorithm>
#include <utility>

namespace heapattach::crystal {

namespace {

constexpr std::uint64_t kLargestInstance = 1U << 30U;
constexpr std::uint32_t kLargestId = 0x7fffffff;

}  // namespace

AllocationFollower::AllocationFollower(Range code,
                                       const CallTarget& target,
                                       const ConstantAt& constant,
                                       const Registers& names)
    : code_(code), target_(target), constant_(constant), names_(names) {
  forget_registers();
}

void AllocationFollower::forget_registers() {
  registers_ = {};
  registers_[names_.stack_pointer].form = Value::Form::Frame;
}

void AllocationFollower::begin_second_round() {
  forget_registers();
  slots_.clear();
  fresh_.clear();
  returns_ = 0;
  returned_.reset();
  is_after_jump_ = false;
  is_first_round_ = false;
}

std::vector<AllocationSite> AllocationFollower::in_rounds(const std::function<void()>& round) {
  round();
  if (!labels_.empty()) {
    begin_second_round();
    round();
  }
  return sites();
}

void AllocationFollower::note_frame() {
  const Value& stack = registers_[names_.stack_pointer];
  if (stack.is(Value::Form::Frame)) {
    frame_ = std::min(frame_, static_cast<std::int64_t>(stack.number));
  }
}

bool AllocationFollower::meet(std::uint64_t at) {
  if (!is_after_jump_ && !labels_.contains(at)) return false;
  Value stack = registers_[names_.stack_pointer];
  const Value frame_pointer = registers_[names_.frame_pointer];
  if (is_after_jump_) stack = {Value::Form::Frame, static_cast<std::uint64_t>(frame_), 0};
  registers_ = {};
  registers_[names_.stack_pointer] = stack;
  if (frame_pointer.is(Value::Form::Frame)) registers_[names_.frame_pointer] = frame_pointer;
  std::erase_if(slots_, [&](const auto& slot) { return slot_writers_[slot.first] != 1; });
  is_after_jump_ = false;
  return true;
}

Value AllocationFollower::lower_half(Value value) {
  if (!value.is(Value::Form::Constant)) return {};
  value.number &= 0xffffffffU;
  return value;
}

Value AllocationFollower::load(const Value& address, unsigned bytes) const {
  if (address.is(Value::Form::Static)) {
    if (!constant_ || (bytes != 4 && bytes != 8)) return {};
    const auto constant = constant_(RemoteAddr{address.number}, bytes);
    return constant ? Value{Value::Form::Constant, *constant, 0} : Value{};
  }
  if (!address.is(Value::Form::Frame)) return {};
  const auto slot = slots_.find(address.number);
  if (slot == slots_.end()) return {};
  if (bytes == 8) return slot->second;
  return bytes == 4 ? lower_half(slot->second) : Value{};
}

void AllocationFollower::store(const Value& address, Value value, unsigned bytes) {
  if (address.is(Value::Form::Frame)) {
    if (is_first_round_) ++slot_writers_[address.number];
    slots_[address.number] = bytes == 8 || value.is(Value::Form::Constant) ? value : Value{};
    return;
  }
  if (!address.is(Value::Form::Fresh) || address.number != 0) return;
  Fresh& object = fresh_[address.object];
  if (!value.is(Value::Form::Constant) || bytes < 4) {
    // Vector stores that zero a fresh object come before its id, never after it.
    if (object.id != 0) object.is_certain = false;
    return;
  }
  const auto id = static_cast<std::uint32_t>(value.number);
  if (id == 0 && object.id == 0) return;
  if (object.id != 0 && object.id != id) object.is_certain = false;
  object.id = id;
}

void AllocationFollower::call(std::optional<RemoteAddr> callee, RemoteAddr after) {
  Value result;
  if (callee) {
    const Value size = registers_[names_.first_argument];
    const std::optional<Allocator> allocator = target_(*callee);
    const bool is_instance =
        size.is(Value::Form::Constant) && size.number >= 4 && size.number <= kLargestInstance;
    if (allocator && is_instance) {
      result = {Value::Form::Fresh, 0, fresh_.size()};
      fresh_.push_back({size.number, *allocator, 0, true, *callee, after});
    }
  }
  for (const unsigned reg : names_.caller_saved) registers_[reg] = {};
  registers_[names_.result] = result;
}

void AllocationFollower::jump(std::optional<RemoteAddr> to, bool is_conditional) {
  is_after_jump_ = !is_conditional;
  if (!to) return;
  labels_.insert(to->value);
  if (!code_.contains(*to)) leave({});  // the result of that function is unknown
}

void AllocationFollower::leave(Value result) {
  is_after_jump_ = true;
  const bool is_object = result.is(Value::Form::Fresh) && result.number == 0;
  if (returns_++ == 0 && is_object) returned_ = result.object;
  if (!is_object || returned_ != result.object) returned_.reset();
}

std::vector<AllocationSite> AllocationFollower::sites() const {
  std::vector<AllocationSite> sites;
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    const Fresh& object = fresh_[i];
    if (object.id == 0 || object.id > kLargestId || !object.is_certain) continue;
    sites.push_back({object.id, object.bytes, object.allocator, returned_ == i, object.allocator_at,
                     object.made_at});
  }
  return sites;
}

}  // namespace heapattach::crystal
