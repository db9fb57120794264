#include "report/call/safe_point.h"

#include <map>

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {

using unwind::FoundBy;
using unwind::FrameRecord;
using unwind::StackEnd;
using unwind::StackRecord;

namespace {

struct Walk {
  StackRecord stack;
  bool is_in_call = false;
  std::uint64_t unseen = 0;
  std::vector<CodeName> names;

  // `frames` begin with the innermost one.
  explicit Walk(std::vector<CodeName> frames) : names(std::move(frames)) {
    for (std::uint64_t i = 0; i < names.size(); ++i) {
      stack.frames.push_back({.pc = {i},
                              .stack_pointer = {0x1000 + 64 * i},
                              .cfa = {0x1040 + 64 * i},
                              .found_by = FoundBy::FrameTables});
    }
  }
  [[nodiscard]] std::string objection() const {
    const auto name_of = [this](RemoteAddr pc) { return names.at(pc.value); };
    return objection_to_stack({stack, is_in_call, unseen}, name_of).value_or("");
  }
};

const CodeName kOwn{"service", "work"};
const CodeName kMain{"service", "main"};
const CodeName kRead{"libc.so.6", "read"};
const CodeName kStartThread{"libc.so.6", ""};

}  // namespace

TEST_CASE("a thread in the program's own code, or waiting in a call from it, is at a safe point") {
  CHECK(Walk({kOwn, kMain, kStartThread, {"service", "_start"}}).objection().empty());
  Walk waiting({kRead, kOwn, kStartThread});
  waiting.is_in_call = true;
  CHECK(waiting.objection().empty());
  waiting.is_in_call = false;
  CHECK(waiting.objection().find("inside the C library") != std::string::npos);
}

TEST_CASE("a thread with malloc, the loader or the collector on its stack is not at a safe point") {
  const auto objection = [](const CodeName& code) {
    Walk walk({kRead, code, kMain, kStartThread});
    walk.is_in_call = true;
    return walk.objection();
  };
  for (const char* name : {"malloc", "__libc_malloc", "_int_free", "malloc_trim", "tcache_init"}) {
    CHECK(objection({"libc.so.6", name}).find("malloc or free") != std::string::npos);
  }
  CHECK(objection({"libjemalloc.so.2", ""}).find("malloc or free") != std::string::npos);
  CHECK(objection({"ld-linux-x86-64.so.2", ""}).find("loader") != std::string::npos);
  CHECK(objection({"libc.so.6", "dl_iterate_phdr"}).find("loader") != std::string::npos);
  CHECK(objection({"libgc.so.1", ""}).find("collector") != std::string::npos);
  CHECK(objection({"service", "GC_collect_or_expand"}).find("collector") != std::string::npos);
  CHECK(objection({"libc.so.6", "qsort"}).empty());
}

TEST_CASE("a collector's thread starter is allowed on a stack, but not alone") {
  CHECK(Walk({kOwn, {"libgc.so.1", ""}, {"libgc.so.1", "GC_call_with_stack_base"}, kStartThread})
            .objection()
            .empty());
  Walk marker({kRead, {"libgc.so.1", "GC_mark_thread"}, kStartThread});
  marker.is_in_call = true;
  CHECK(marker.objection().find("none of the program's own code") != std::string::npos);
}

TEST_CASE("a thread in a handler, or with an incomplete stack, is not at a safe point") {
  Walk walk({kOwn, kMain});
  SUBCASE("a signal's handler") {
    walk.stack.frames[1].found_by = FoundBy::SignalFrame;
    CHECK(walk.objection().find("handler") != std::string::npos);
  }
  SUBCASE("a guess") {
    walk.stack.frames[1].found_by = FoundBy::Scan;
  }
  SUBCASE("more frames than are kept") {
    walk.stack.left_out = 3;
  }
  SUBCASE("nonsense") {
    walk.stack.end = StackEnd::Corrupt;
  }
  SUBCASE("much of it unseen") {
    walk.stack.end = StackEnd::Unknown;
    walk.unseen = 10'000;
  }
  CHECK(!walk.objection().empty());
}

TEST_CASE("a fiber's stack may end without a mark where its memory ends") {
  Walk walk({kOwn, {"service", "~procProc(Nil)"}});
  walk.stack.end = StackEnd::Unknown;
  walk.unseen = 64;
  CHECK(walk.objection().empty());
}

TEST_CASE("a thread has not moved if its frames and its activity are the same") {
  FakeMemory memory;
  memory.map_zero({0x1000}, 0x1000);
  memory.put(RemoteAddr{0x1038}, std::uint64_t{0x4010});
  memory.put(RemoteAddr{0x1078}, std::uint64_t{0x4020});
  const Walk walk({kOwn, kMain});
  Registers at;
  at.instruction_pointer = {0x4100};
  at.stack_pointer = {0x1000};
  const SafePoint point = safe_point_of(walk.stack, at, {{0x4100}, 0x20}, memory);
  CHECK(point.returns.size() == 2);
  CHECK(is_still_there(point, at, memory));
  SUBCASE("elsewhere in the same function") {
    at.instruction_pointer = {0x411f};
    CHECK(is_still_there(point, at, memory));
    return;
  }
  SUBCASE("in another function") {
    at.instruction_pointer = {0x4120};
  }
  SUBCASE("with another stack pointer") {
    at.stack_pointer = {0x1008};
  }
  SUBCASE("in a system call") {
    at.system_call = 0;
  }
  SUBCASE("called from elsewhere") {
    memory.put(RemoteAddr{0x1078}, std::uint64_t{0x4028});
  }
  CHECK(!is_still_there(point, at, memory));
}

}  // namespace heapattach
