#include "report/collect/frame_finder.h"

#include <algorithm>
#include <tuple>

#include "attach/arch/red_zone.h"
#include "attach/base/word.h"

namespace heapattach::snapshot {

namespace {

// A function that calls no other function may keep data so far below the stack pointer, and so may
// a suspended fiber.
constexpr std::uint64_t kBelow = kRedZoneBytes;

std::uint64_t bytes_of(const types::TypeModel& types, types::TypeRef ref) {
  constexpr std::uint64_t kMostElements = 1'000'000;
  if (ref >= types.types().size()) return kWordBytes;
  const types::Type& type = types[ref];
  if (type.bytes) return std::max(*type.bytes, kWordBytes);
  const bool is_array = type.count && *type.count <= kMostElements && type.target != ref &&
                        type.target < types.types().size();
  const std::uint64_t one = is_array ? types[type.target].bytes.value_or(kWordBytes) : 0;
  return std::max(is_array ? *type.count * one : 0, kWordBytes);
}

}  // namespace

FrameFinder::FrameFinder(const unwind::Stacks& stacks, const types::TypeModel& types)
    : stacks_(stacks) {
  for (const unwind::StackRecord& record : stacks.stacks) {
    OneStack& one = by_owner_[{record.thread, record.fiber}];
    if (one.record != nullptr) continue;
    one.record = &record;
    for (std::uint32_t i = 0; i < record.frames.size(); ++i) {
      one.parts.push_back({record.frames[i].stack_pointer, i});
    }
    std::sort(one.parts.begin(), one.parts.end(), [](const Part& a, const Part& b) {
      return std::tie(a.start, a.frame) < std::tie(b.start, b.frame);
    });
  }
  for (const types::Variable& local : stacks.locals) {
    const auto owner = by_owner_.find({local.thread, local.fiber});
    if (owner == by_owner_.end()) continue;
    if (local.value) {
      owner->second.in_register.push_back({*local.value, local.frame, &local});
    } else {
      const std::uint64_t bytes = bytes_of(types, local.type);
      owner->second.in_memory.push_back({local.frame, local.address, bytes, &local});
    }
  }
  for (auto& [owner, stack] : by_owner_) {
    std::stable_sort(stack.in_memory.begin(), stack.in_memory.end(),
                     [](const InMemory& a, const InMemory& b) {
                       return std::tie(a.frame, a.start) < std::tie(b.frame, b.start);
                     });
    std::stable_sort(stack.in_register.begin(), stack.in_register.end(),
                     [](const InRegister& a, const InRegister& b) {
                       return std::tie(a.word, a.frame) < std::tie(b.word, b.frame);
                     });
  }
}

std::optional<std::uint32_t> FrameFinder::frame_around(const OneStack& stack, RemoteAddr at) {
  const auto& frames = stack.record->frames;
  const auto behind = std::partition_point(stack.parts.begin(), stack.parts.end(),
                                           [at](const Part& part) { return part.start <= at; });
  if (behind == stack.parts.begin()) {
    const bool is_just_below =
        !frames.empty() && behind->frame == 0 && frames[0].stack_pointer.value - at.value <= kBelow;
    return is_just_below ? std::optional(std::uint32_t{0}) : std::nullopt;
  }
  const std::uint32_t frame = std::prev(behind)->frame;
  const RemoteAddr end = frames[frame].cfa;
  // If its end is unknown, a frame ends where the next one begins, unless frames in between were
  // left out.
  const bool is_next_known =
      frame + 1 < frames.size() &&
      (stack.record->left_out == 0 || frame + 1 != stack.record->left_out_behind);
  if (end.value == 0 ? !is_next_known : at >= end) return {};
  return frame;
}

FrameFinder::Found FrameFinder::found(const OneStack& stack,
                                      std::uint32_t frame,
                                      const types::Variable* variable) const {
  Found result{.frame = frame, .variable = {}, .inlined = {}, .is_below = false};
  if (variable == nullptr) return result;
  result.variable = variable->name;
  const std::size_t functions = stacks_.places_of(stack.record->frames[frame].pc).size();
  if (variable->inlined != 0 && variable->inlined < functions) {
    result.inlined = static_cast<std::uint32_t>(functions - 1 - variable->inlined);
  }
  return result;
}

// The innermost variable of the frame that is in memory at that address; null if there is none.
const types::Variable* FrameFinder::variable_at(const OneStack& stack,
                                                std::uint32_t frame,
                                                RemoteAddr at) {
  const auto [first, last] = std::equal_range(
      stack.in_memory.begin(), stack.in_memory.end(), InMemory{frame, {}, 0, nullptr},
      [](const InMemory& a, const InMemory& b) { return a.frame < b.frame; });
  const types::Variable* innermost = nullptr;
  for (auto one = first; one != last && one->start <= at; ++one) {
    if (at.value - one->start.value < one->bytes) innermost = one->variable;
  }
  return innermost;
}

std::optional<FrameFinder::Found> FrameFinder::at(pid_t thread,
                                                  std::uint64_t fiber,
                                                  RemoteAddr at,
                                                  std::uint64_t word) const {
  const auto owner = by_owner_.find({thread, fiber});
  if (owner == by_owner_.end()) return {};
  const OneStack& stack = owner->second;
  const auto frame = frame_around(stack, at);
  if (!frame) return {};
  // Arguments on the stack are in the caller's frame.
  for (const std::uint32_t of : {*frame, *frame == 0 ? *frame : *frame - 1}) {
    const types::Variable* const variable = variable_at(stack, of, at);
    if (variable != nullptr) return found(stack, of, variable);
  }
  const auto value = std::lower_bound(
      stack.in_register.begin(), stack.in_register.end(), std::pair(word, *frame),
      [](const InRegister& a, const auto& sought) { return std::pair(a.word, a.frame) < sought; });
  if (value != stack.in_register.end() && value->word == word) {
    return found(stack, value->frame, value->variable);
  }
  Found result = found(stack, *frame, nullptr);
  result.is_below = thread != 0 && at < stack.record->frames[0].stack_pointer;
  return result;
}

std::optional<FrameFinder::Found> FrameFinder::in_register(pid_t thread, std::uint64_t word) const {
  const auto owner = by_owner_.find({thread, 0});
  if (owner == by_owner_.end() || owner->second.record->frames.empty()) return {};
  const OneStack& stack = owner->second;
  const auto value =
      std::lower_bound(stack.in_register.begin(), stack.in_register.end(), word,
                       [](const InRegister& a, std::uint64_t sought) { return a.word < sought; });
  const bool is_known = value != stack.in_register.end() && value->word == word;
  return found(stack, is_known ? value->frame : 0, is_known ? value->variable : nullptr);
}

}  // namespace heapattach::snapshot
