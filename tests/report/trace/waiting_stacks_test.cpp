#include "report/trace/waiting_stacks.h"

#include <chrono>

#include <doctest/doctest.h>

namespace heapattach {

using namespace std::chrono_literals;
using trace::WaitingStacks;

namespace {

unwind::StackSample stack_of(std::size_t bytes) {
  unwind::StackSample sample;
  sample.stack.resize(bytes);
  return sample;
}

WaitingStacks waiting(std::size_t count) {
  WaitingStacks stacks;
  for (std::size_t i = 0; i < count; ++i) stacks.add(stack_of(0));
  return stacks;
}

}  // namespace

TEST_CASE("stacks wait in order, and leave with their memory") {
  WaitingStacks stacks;
  for (const std::size_t bytes : {100U, 200U, 300U}) stacks.add(stack_of(bytes));
  CHECK(stacks.bytes() == 600 + 3 * sizeof(unwind::StackSample));
  CHECK(stacks.batch().size() == 3);
  stacks.remove(2, 1ms);
  REQUIRE(stacks.size() == 1);
  CHECK(stacks.all().front().stack.size() == 300);
  CHECK(stacks.bytes() == 300 + sizeof(unwind::StackSample));
  stacks.remove(1, 1ms);
  CHECK(stacks.bytes() == 0);
  CHECK(stacks.batch().empty());
}

TEST_CASE("a batch of stacks is as large as can be unwound in a moment") {
  constexpr std::size_t kLeast = WaitingStacks::kLeast;
  WaitingStacks stacks = waiting(100 * kLeast);
  CHECK(stacks.batch().size() == kLeast);
  stacks.remove(stacks.batch().size(), 10ms);
  stacks.remove(stacks.batch().size(), 20ms);
  CHECK(stacks.batch().size() == 4 * kLeast);
  stacks.remove(stacks.batch().size(), 200ms);  // just right
  CHECK(stacks.batch().size() == 4 * kLeast);
  stacks.remove(stacks.batch().size(), 5s);  // the machine is busy now
  CHECK(stacks.batch().size() == 2 * kLeast);
  stacks.remove(stacks.batch().size(), 5s);
  stacks.remove(stacks.batch().size(), 5s);
  CHECK(stacks.batch().size() == kLeast);
}

TEST_CASE("few stacks say nothing about how long many take") {
  WaitingStacks stacks = waiting(3);
  stacks.remove(3, 1ms);
  for (std::size_t i = 0; i < 2 * WaitingStacks::kLeast; ++i) stacks.add(stack_of(0));
  CHECK(stacks.batch().size() == WaitingStacks::kLeast);
}

}  // namespace heapattach
