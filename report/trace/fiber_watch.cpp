#include "report/trace/fiber_watch.h"

#include <algorithm>
#include <utility>

#include "symbols/boehm/blocks.h"
#include "symbols/crystal/fibers.h"
#include "symbols/heap/blocks.h"

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 5ms;
constexpr int kLookShare = 20;
constexpr auto kBetweenLearning = 1s;

}  // namespace

// A program that was just started may have no fibers yet.
void FiberWatch::learn() {
  if (Clock::now() < next_learning_) return;
  next_learning_ = Clock::now() + kBetweenLearning;
  const snapshot::Opened& target = prepared_.target;
  const auto map = target.process->maps();
  if (!map) return;
  const auto index = boehm::read_blocks(target.memory, *map, prepared_.collector->layout);
  if (!index) return;
  layout_ = crystal::learn_fibers(prepared_.classes, *index, target.memory, *map);
  for (const auto& fiber : crystal::suspended_fibers(layout_, *index, target.memory, *map, {})) {
    known_.push_back(fiber.object);
  }
}

void FiberWatch::look() {
  const auto begin = Clock::now();
  if (known_.empty()) learn();
  before_ = std::move(now_);
  now_.clear();
  const auto listed = crystal::listed_fibers(layout_, known_, prepared_.target.memory);
  if (!listed.empty()) known_.clear();
  for (const crystal::ListedFiber& fiber : listed) {
    known_.push_back(fiber.object);
    now_.emplace(fiber.stack_bottom.value, fiber);
  }
  find_stacks();
  const auto end = Clock::now();
  next_look_ = end + std::max<Clock::duration>(kBetweenLooks, kLookShare * (end - begin));
}

// A stack is one mapping, with an inaccessible page at its low end. The first stack grows.
void FiberWatch::find_stacks() {
  constexpr std::uint64_t kMostOfFirst = std::uint64_t{1} << 30;
  std::erase_if(stacks_, [this](const auto& stack) { return !now_.contains(stack.first); });
  const auto is_unknown = [this](const auto& fiber) { return !stacks_.contains(fiber.first); };
  if (std::ranges::none_of(now_, is_unknown)) return;
  const auto map = prepared_.target.process->maps();
  if (!map) return;
  for (const auto& [end, fiber] : now_) {
    const Mapping* const mapping = map->find({end - 8});
    if (mapping == nullptr || !mapping->writable) continue;
    const bool is_first = mapping->path == "[stack]";
    stacks_.emplace(end, is_first ? end - kMostOfFirst : mapping->range.start.value);
  }
}

const crystal::ListedFiber* FiberWatch::owner(const Table& table,
                                              std::uint64_t stack_pointer) const {
  const auto fiber = table.upper_bound(stack_pointer);
  if (fiber == table.end()) return nullptr;
  const auto stack = stacks_.find(fiber->first);
  return stack != stacks_.end() && stack_pointer >= stack->second ? &fiber->second : nullptr;
}

std::uint32_t FiberWatch::fiber_at(std::uint64_t stack_pointer) {
  const crystal::ListedFiber* const now = owner(now_, stack_pointer);
  const crystal::ListedFiber* const before = owner(before_, stack_pointer);
  if (now == nullptr || before == nullptr || *now != *before) return kNone;
  const auto [at, is_new] = numbers_.try_emplace(*now, static_cast<std::uint32_t>(fibers_.size()));
  if (is_new) {
    const crystal::FiberStack named{.object = now->object, .stack = {}, .name = now->name};
    fibers_.push_back({.address = now->object.value,
                       .name = crystal::fiber_name(named, prepared_.target.memory)});
  }
  return at->second;
}

}  // namespace heapattach::trace
