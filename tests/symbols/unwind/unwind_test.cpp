#include "symbols/unwind/unwind.h"

#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "symbols/unwind/locals.h"
#include "tests/fakes/fake_memory.h"
#include "tests/fakes/own_memory.h"
#include "tests/symbols/unwind/inputs/known_stack.h"
#include "tests/symbols/unwind/own_stack.h"

namespace heapattach::unwind {

namespace {

WalkedStack walk(ModuleDebugs& debugs,
                 const MemoryReader& memory,
                 const MachineState& innermost,
                 std::size_t most_frames) {
  return Unwinder(debugs, memory)
      .walk(innermost, true, {.innermost = most_frames, .outermost = 0, .followed = most_frames});
}

std::uint64_t word_at(std::uint64_t address) {
  const auto word = OwnMemory().read_as<std::uint64_t>(RemoteAddr{address});
  return word ? *word : 0;
}

// A variable, and the two words at its location.
struct SeenLocal {
  Local local;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

struct Seen {
  const Modules& modules;
  WalkedStack stack;
  std::vector<std::string> functions;
  std::vector<std::vector<SeenLocal>> locals;

  [[nodiscard]] std::size_t frame_of(const std::string& function) const {
    const auto found = std::find(functions.begin(), functions.end(), function);
    REQUIRE(found != functions.end());
    return static_cast<std::size_t>(found - functions.begin());
  }
  [[nodiscard]] const SeenLocal* local(const std::string& function, const std::string& name) const {
    for (const SeenLocal& one : locals[frame_of(function)]) {
      if (one.local.name == name) return &one;
    }
    return nullptr;
  }
};

// Walks the stack on which it is called, while the stack does not change.
void walk_own(void* context) {
  auto& seen = *static_cast<Seen*>(context);
  ucontext_t here;
  REQUIRE(getcontext(&here) == 0);
  const OwnMemory memory;
  ModuleDebugs debugs(seen.modules);
  seen.stack = walk(debugs, memory, state_of(here), 200);
  Locals locals(debugs, memory);
  for (const Frame& frame : seen.stack.frames) {
    const Module* module = seen.modules.find(frame.pc());
    const auto symbol = module == nullptr ? std::nullopt : module->symbol_at(frame.pc());
    seen.functions.emplace_back(symbol ? symbol->name : "");
    seen.locals.emplace_back();
    for (Local& local : locals.of(frame)) {
      const std::uint64_t at = local.at;
      seen.locals.back().push_back({std::move(local), word_at(at), word_at(at + 8)});
    }
  }
}

known_node first_node{nullptr, 1};
known_node second_node{nullptr, 2};

std::uint64_t number_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

Seen* seen_by_handler = nullptr;

}  // namespace

TEST_CASE("a stack is walked from the innermost function to the outermost") {
  const Modules& modules = own_modules();
  Seen seen{modules, {}, {}, {}};
  known_outer(walk_own, &seen, &first_node, &second_node);
  const std::size_t inner = seen.frame_of("known_inner");
  CHECK(seen.frame_of("known_outer") == inner + 1);
  CHECK(seen.frame_of("main") > inner);
  CHECK(seen.stack.end == StackEnd::Outermost);
  for (std::size_t i = 1; i < seen.stack.frames.size(); ++i) {
    CHECK(seen.stack.frames[i].found_by == FoundBy::FrameTables);
    CHECK(seen.stack.frames[i].state.sp() == seen.stack.frames[i - 1].cfa);
  }
}

TEST_CASE("the variables and parameters of a frame are found with their types and addresses") {
  const Modules& modules = own_modules();
  Seen seen{modules, {}, {}, {}};
  known_outer(walk_own, &seen, &first_node, &second_node);

  const SeenLocal* parameter = seen.local("known_inner", "parameter");
  REQUIRE(parameter != nullptr);
  CHECK(parameter->local.type == "struct known_node *");
  CHECK(parameter->first == number_of(&second_node));
  const SeenLocal* inside = seen.local("known_inner", "inside");
  REQUIRE(inside != nullptr);
  CHECK(inside->local.type == "struct known_node");
  CHECK(inside->first == number_of(&second_node));
  CHECK(inside->second == 77);
  const SeenLocal* array = seen.local("known_inner", "array");
  REQUIRE(array != nullptr);
  CHECK(array->local.type == "struct known_node *[2]");
  CHECK(array->second == number_of(&second_node));
  const SeenLocal* plain = seen.local("known_outer", "plain");
  REQUIRE(plain != nullptr);
  CHECK(plain->first == number_of(&first_node));
  // no_local has a fixed address, like the globals.
  CHECK(seen.local("known_inner", "no_local") == nullptr);
}

TEST_CASE("without tables the walk continues by frame pointers") {
  const Modules& modules = own_modules();
  Seen seen{modules, {}, {}, {}};
  known_without_tables(walk_own, &seen);
  const std::size_t frame = seen.frame_of("known_without_tables");
  REQUIRE(frame + 1 < seen.stack.frames.size());
  CHECK(seen.stack.frames[frame + 1].found_by == FoundBy::Code);
  CHECK(seen.frame_of("main") > frame);
  CHECK(seen.stack.end == StackEnd::Outermost);
}

TEST_CASE("the caller of a signal handler is the code that it interrupted") {
  const Modules& modules = own_modules();
  Seen seen{modules, {}, {}, {}};
  seen_by_handler = &seen;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { walk_own(seen_by_handler); };
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  known_outer([](void*) { raise(SIGUSR1); }, nullptr, &first_node, &second_node);
  sigaction(SIGUSR1, &before, nullptr);

  const auto& frames = seen.stack.frames;
  const auto interrupted = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) {
    return frame.found_by == FoundBy::SignalFrame;
  });
  REQUIRE(interrupted != frames.end());
  CHECK(interrupted->is_exact);
  CHECK(seen.frame_of("known_inner") > static_cast<std::size_t>(interrupted - frames.begin()));
  const SeenLocal* parameter = seen.local("known_inner", "parameter");
  REQUIRE(parameter != nullptr);
  CHECK(parameter->first == number_of(&second_node));
}

TEST_CASE("a corrupt stack ends with a mark") {
  const Modules& modules = own_modules();
  ModuleDebugs debugs(modules);
  const std::uint64_t code = number_of(reinterpret_cast<const void*>(&known_without_tables)) + 4;
  const RemoteAddr stack{0x10000};
  FakeMemory memory;
  memory.map_zero(stack, 0x1000);
  MachineState state;
  state.set_pc(code);
  state.set_sp(stack.value);
  state.set_frame_pointer(stack.value + 0x100);
  memory.put(stack + 0x108, code);

  SUBCASE("frame pointers that go in a circle") {
    memory.put(stack + 0x100, stack.value + 0x100);
    const WalkedStack walked = walk(debugs, memory, state, 100);
    CHECK(walked.frames.size() == 2);
    CHECK(walked.end == StackEnd::Unknown);
  }
  SUBCASE("no code at all") {
    state.set_pc(0x5000);
    state.set_frame_pointer(0);
    const WalkedStack walked = walk(debugs, memory, state, 100);
    CHECK(walked.frames.size() == 1);
    CHECK(walked.end == StackEnd::Corrupt);
  }
  SUBCASE("code that was made at run time") {
    const auto map =
        parse_maps("5000-6000 rwxp 00000000 00:00 0\n10000-11000 rw-p 00000000 00:00 0\n");
    REQUIRE(map);
    state.set_pc(0x5004);
    state.set_frame_pointer(0);
    CHECK(Unwinder(debugs, memory, &*map).walk(state, true, {}).end == StackEnd::Generated);
    state.set_pc(0x10004);
    CHECK(Unwinder(debugs, memory, &*map).walk(state, true, {}).end == StackEnd::Corrupt);
  }
  SUBCASE("more frames than the limit") {
    for (std::uint64_t at = 0x100; at < 0xf00; at += 0x10) {
      memory.put(stack + at, stack.value + at + 0x10);
      memory.put(stack + at + 8, code);
    }
    const WalkedStack walked = walk(debugs, memory, state, 5);
    CHECK(walked.frames.size() == 5);
    CHECK(walked.end == StackEnd::Limit);
  }
  SUBCASE("a stack that was not copied") {
    state.set_sp(0x90000);
    state.set_frame_pointer(0x90000);
    CHECK(walk(debugs, memory, state, 5).end == StackEnd::Unknown);
  }
}

TEST_CASE("a suspended fiber has its registers on its stack") {
  FakeMemory memory;
  const RemoteAddr at{0x7000};
  for (std::uint64_t i = 0; i < 8; ++i) memory.put(at + 8 * i, 100 + i);
  const auto state = suspended_fiber(memory, at);
  REQUIRE(state);
  CHECK(state->at(15) == 100);
  CHECK(state->at(12) == 103);
  CHECK(state->frame_pointer() == 104);
  CHECK(state->at(3) == 105);
  CHECK(state->pc() == 107);
  CHECK(state->sp() == 0x7040);
  CHECK_FALSE(state->at(0));
  CHECK_FALSE(suspended_fiber(memory, at + 8));
}

}  // namespace heapattach::unwind
