// Walks stacks of code that nothing describes: return addresses are guessed from the words on the
// stack.

#include <algorithm>
#include <csetjmp>

#include <doctest/doctest.h>

#include "symbols/unwind/arch/epilogues.h"
#include "symbols/unwind/arch/prologues.h"
#include "symbols/unwind/arch/return_addresses.h"
#include "symbols/unwind/unwind.h"
#include "tests/fakes/own_memory.h"
#include "tests/symbols/unwind/inputs/known_stack.h"
#include "tests/symbols/unwind/own_stack.h"

namespace heapattach::unwind {

namespace {

struct Walked {
  const Modules& modules;
  WalkedStack stack;
  std::vector<std::string> functions;

  [[nodiscard]] std::size_t frame_of(const std::string& function) const {
    const auto found = std::find(functions.begin(), functions.end(), function);
    REQUIRE_MESSAGE(found != functions.end(), function);
    return static_cast<std::size_t>(found - functions.begin());
  }
};

void walk_here(void* context) {
  auto& walked = *static_cast<Walked*>(context);
  ucontext_t here;
  REQUIRE(getcontext(&here) == 0);
  const OwnMemory memory;
  ModuleDebugs debugs(walked.modules);
  walked.stack = Unwinder(debugs, memory).walk(state_of(here), true, {});
  for (const Frame& frame : walked.stack.frames) {
    const Module* module = walked.modules.find(frame.pc());
    const auto symbol = module == nullptr ? std::nullopt : module->symbol_at(frame.pc());
    walked.functions.emplace_back(symbol ? symbol->name : "");
  }
}

RemoteAddr address_of(const void* code) {
  return {reinterpret_cast<std::uint64_t>(code)};
}

// Returns the function's own return address.
__attribute__((noinline)) RemoteAddr called_directly() {
  return address_of(__builtin_return_address(0));
}

}  // namespace

TEST_CASE("without tables and frame pointers the walk continues by the functions' own code") {
  const Modules& modules = own_modules();
  Walked walked{modules, {}, {}};
  known_without_frame(walk_here, &walked);
  const std::size_t inner = walked.frame_of("known_frameless_inner");
  REQUIRE(walked.frame_of("known_without_frame") == inner + 1);
  CHECK(walked.stack.frames[inner].found_by == FoundBy::FrameTables);
  CHECK(walked.stack.frames[inner + 1].found_by == FoundBy::Code);
  CHECK(walked.stack.frames[inner + 2].found_by == FoundBy::Code);
  // From there on, tables lead to the end.
  CHECK(walked.stack.frames[inner + 3].found_by == FoundBy::FrameTables);
  CHECK(walked.frame_of("main") > inner);
  CHECK(walked.stack.end == StackEnd::Outermost);
}

TEST_CASE("if the code shows no return either, calls on the stack are guessed, and marked") {
  const Modules& modules = own_modules();
  struct {
    Walked walked;
    std::jmp_buf back;
  } here{{modules, {}, {}}, {}};
  const auto leave = [](void* context) {
    auto& to = *static_cast<decltype(here)*>(context);
    walk_here(&to.walked);
    std::longjmp(to.back, 1);
  };
  if (setjmp(here.back) == 0) known_call_endless(leave, &here);
  const std::size_t endless = here.walked.frame_of("known_endless");
  REQUIRE(here.walked.frame_of("known_call_endless") == endless + 1);
  CHECK(here.walked.stack.frames[endless + 1].found_by == FoundBy::Scan);
  // The endless loop has changed the frame pointer, but has saved its caller's before.
  CHECK(here.walked.stack.frames[endless + 2].found_by == FoundBy::FrameTables);
  CHECK(here.walked.frame_of("main") > endless);
}

TEST_CASE("what a function pushes at its start is found up to where it is") {
  const Modules& modules = own_modules();
  const auto pushed = [&](const char* name, std::uint64_t bytes) {
    const auto function = modules.find_symbol(name);
    REQUIRE(function);
    std::vector<std::size_t> numbers;
    for (const PushedRegister& one : pushed_at_start(
             *modules.find(function->address), function->address, function->address + bytes)) {
      CHECK(one.below == 8 * (numbers.size() + 1));
      numbers.push_back(one.number);
    }
    return numbers;
  };
  CHECK(pushed("known_switch", 100) == std::vector<std::size_t>{6});
  CHECK(pushed("known_switch", 0).empty());
  CHECK(pushed("known_without_frame", 100).empty());
  CHECK(pushed("known_pushes", 100) == std::vector<std::size_t>{6, 15, 3});
}

TEST_CASE("a function that loads the stack pointer is recognised") {
  const Modules& modules = own_modules();
  const auto switches = [&](const char* name) {
    const auto function = modules.find_symbol(name);
    REQUIRE(function);
    return switches_stack(*modules.find(function->address), function->address,
                          function->address + function->bytes);
  };
  CHECK(switches("known_switch"));
  CHECK_FALSE(
      switches("known_without_tables"));  // it restores the stack pointer from the frame pointer
  CHECK_FALSE(switches("known_without_frame"));
}

TEST_CASE("a return address is recognised by the call before it, and by what it calls") {
  const Modules& modules = own_modules();
  const RemoteAddr back = called_directly();
  const Module* const module = modules.find(back);
  REQUIRE(module != nullptr);
  const auto call = call_before(*module, back);
  REQUIRE(call);
  REQUIRE(call->target);
  const auto called = module->symbol_at(*call->target);
  REQUIRE(called);
  CHECK(called->address == *call->target);
  CHECK(called->name.find("called_directly") != std::string_view::npos);

  const RemoteAddr function = address_of(reinterpret_cast<const void*>(&known_without_tables));
  CHECK_FALSE(call_before(*module, function + 1));
  CHECK_FALSE(call_before(*module, RemoteAddr{4}));
  CHECK_FALSE(call_before(*module, RemoteAddr{0x5000}));
}

TEST_CASE("a function with a frame pointer is recognised by its first instructions") {
  const Modules& modules = own_modules();
  const auto begins = [&](auto* function) {
    const RemoteAddr at = address_of(reinterpret_cast<const void*>(function));
    return begins_with_frame(*modules.find(at), at);
  };
  CHECK(begins(&known_without_tables));
  CHECK_FALSE(begins(&known_without_frame));
}

}  // namespace heapattach::unwind
