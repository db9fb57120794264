#include "report/collect/join_stacks.h"

#include <doctest/doctest.h>

#include "report/collect/frame_finder.h"

namespace heapattach::snapshot {

namespace {

// Two frames of thread 7, and one frame of each of two fibers. Each frame of the thread has two
// variables, one in memory and one in a register.
struct SmallStacks {
  SmallStacks() {
    const unwind::FrameRecord inner{RemoteAddr{0x401000}, RemoteAddr{0x1000}, RemoteAddr{0x1020}};
    const unwind::FrameRecord outer{RemoteAddr{0x402000}, RemoteAddr{0x1020}, RemoteAddr{0x1080}};
    stacks.stacks.resize(3);
    stacks.stacks[0].thread = 7;
    stacks.stacks[0].frames = {inner, outer};
    stacks.stacks[1].fiber = 0x9000;
    stacks.stacks[1].frames = {{RemoteAddr{0x401000}, RemoteAddr{0x5000}, RemoteAddr{0x5010}}};
    stacks.stacks[2].fiber = 0x9100;
    stacks.stacks[2].frames = {{RemoteAddr{0x401000}, RemoteAddr{0x6000}, RemoteAddr{0x6010}}};
    stacks.places = {{RemoteAddr{0x401000}, {{"inlined", "a.c", 1, 0, true}, {"f", "b.c", 2}}}};
    pair = types.intern("struct pair");
    types[pair].bytes = 16;
    add_local("session", 1).address = RemoteAddr{0x1030};
    add_local("on_stack", 0).address = RemoteAddr{0x1050};  // like an argument
    add_local("in_register", 0).value = 0x7000;
    types::Variable& outer_register = add_local("put_aside", 1);
    outer_register.value = 0x8000;
    outer_register.inlined = 1;  // but no inlined function is known there
    types::Variable& in_inlined = add_local("number", 0);
    in_inlined.address = RemoteAddr{0x1000};
    in_inlined.inlined = 1;
  }

  types::Variable& add_local(const char* name, std::uint32_t frame) {
    types::Variable& local = stacks.locals.emplace_back();
    local.name = name;
    local.thread = 7;
    local.frame = frame;
    local.type = pair;
    return local;
  }

  types::TypeModel types;
  types::TypeRef pair = types::kNoType;
  unwind::Stacks stacks;
};

}  // namespace

TEST_CASE("a word on a stack belongs to a frame, and to a variable if there is one") {
  const SmallStacks small;
  const FrameFinder frames(small.stacks, small.types);
  const auto second_word = frames.at(7, 0, RemoteAddr{0x1038}, 1);
  REQUIRE(second_word);
  CHECK(second_word->frame == 1);
  CHECK(second_word->variable == "session");
  CHECK(frames.at(7, 0, RemoteAddr{0x1040}, 1)->variable == "");
  CHECK(frames.at(7, 0, RemoteAddr{0x1018}, 1)->frame == 0);
  CHECK(frames.at(0, 0x9000, RemoteAddr{0x5008}, 1)->frame == 0);
  CHECK_FALSE(second_word->inlined);
  const auto inlined = frames.at(7, 0, RemoteAddr{0x1000}, 1);
  REQUIRE(inlined);
  CHECK(inlined->variable == "number");
  CHECK(inlined->inlined == 0);
}

TEST_CASE("a word belongs to the frame whose variable it is, wherever it is") {
  const SmallStacks small;
  const FrameFinder frames(small.stacks, small.types);
  const auto argument = frames.at(7, 0, RemoteAddr{0x1058}, 1);
  REQUIRE(argument);
  CHECK(argument->frame == 0);
  CHECK(argument->variable == "on_stack");
  const auto saved = frames.at(7, 0, RemoteAddr{0x1010}, 0x8000);
  REQUIRE(saved);
  CHECK(saved->frame == 1);
  CHECK(saved->variable == "put_aside");
  CHECK_FALSE(saved->inlined);
  // A value in a register of an inner frame does not name a word of an outer one.
  CHECK(frames.at(7, 0, RemoteAddr{0x1040}, 0x7000)->variable == "");
}

TEST_CASE("a word outside of every frame, or of an unknown stack, is in none") {
  SmallStacks small;
  small.stacks.stacks[1].frames[0].cfa = RemoteAddr{0};
  const FrameFinder frames(small.stacks, small.types);
  CHECK(frames.at(7, 0, RemoteAddr{0xf80}, 1)->frame == 0);
  CHECK(frames.at(7, 0, RemoteAddr{0xf80}, 1)->is_below);
  CHECK_FALSE(frames.at(7, 0, RemoteAddr{0x1018}, 1)->is_below);
  CHECK(!frames.at(7, 0, RemoteAddr{0xf78}, 1));
  CHECK(!frames.at(7, 0, RemoteAddr{0x1080}, 1));
  CHECK(!frames.at(8, 0, RemoteAddr{0x1008}, 1));
  CHECK(!frames.at(0, 0x9000, RemoteAddr{0x5008}, 1));  // the end of that frame is unknown
}

TEST_CASE("words in the omitted part of a stack are in no frame") {
  SmallStacks small;
  small.stacks.stacks[0].left_out = 1000;
  small.stacks.stacks[0].left_out_behind = 1;
  small.stacks.stacks[0].frames[1].stack_pointer = RemoteAddr{0x9020};
  small.stacks.stacks[0].frames[1].cfa = RemoteAddr{0x9080};
  {
    const FrameFinder frames(small.stacks, small.types);
    CHECK(!frames.at(7, 0, RemoteAddr{0x4000}, 1));
    CHECK(frames.at(7, 0, RemoteAddr{0x1018}, 1)->frame == 0);
  }
  small.stacks.stacks[0].frames[0].cfa = RemoteAddr{0};
  const FrameFinder frames(small.stacks, small.types);
  CHECK(!frames.at(7, 0, RemoteAddr{0x1018}, 1));
}

TEST_CASE("a variable in a register is found by its value") {
  const SmallStacks small;
  const FrameFinder frames(small.stacks, small.types);
  CHECK(frames.in_register(7, 0x7000)->variable == "in_register");
  CHECK(frames.in_register(7, 0x8000)->frame == 1);
  CHECK(frames.in_register(7, 0x7001)->variable == "");
  CHECK(!frames.in_register(8, 0x7000));
}

TEST_CASE("frames share locations, and fibers with equal frames share a stack") {
  SmallStacks small;
  Snapshot snapshot;
  snapshot.threads.emplace_back().tid = 7;
  for (const std::uint64_t fiber : {0x9000U, 0x9100U, 0x9200U}) {
    snapshot.fibers.emplace_back().address = fiber;
  }
  join_stacks(small.stacks, Modules(std::vector<Module>()), snapshot);
  REQUIRE(snapshot.stacks.size() == 2);
  REQUIRE(snapshot.threads[0].stack);
  const Stack& thread = snapshot.stacks[*snapshot.threads[0].stack];
  REQUIRE(thread.frames.size() == 2);
  CHECK(snapshot.fibers[0].stack);
  CHECK(snapshot.fibers[0].stack == snapshot.fibers[1].stack);
  CHECK_FALSE(snapshot.fibers[2].stack);
  REQUIRE(snapshot.places.size() == 2);
  const Place& place = snapshot.places[thread.frames[0].place];
  CHECK(place.at.function == "f");
  CHECK(place.at.line == 2);
  REQUIRE(place.inlined.size() == 1);
  CHECK(place.inlined[0].file == "a.c");
  CHECK(snapshot.places[thread.frames[1].place].at.function == "");
}

}  // namespace heapattach::snapshot
