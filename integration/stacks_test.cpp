// The stacks of programs that wait in known functions, with known variables, and the fibers of a
// Crystal service.

#include "symbols/unwind/stacks.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/memory/capture.h"
#include "attach/memory/live_memory.h"
#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"

namespace heapattach {
namespace {

// A model with the types that the variables point to.
types::TypeModel model_of(const std::vector<const char*>& names) {
  types::TypeModel model;
  for (const char* name : names) {
    types::Type& made = model[model.intern(name)];
    made.shape = types::Shape::Struct;
    made.bytes = 16;
  }
  return model;
}

// The stacks of a target, which is held only while they are copied.
struct SeenStacks {
  explicit SeenStacks(pid_t pid, types::TypeModel names = {})
      : model(std::move(names)),
        process(Process::open(pid).value()),
        memory(process, LiveMemory::open_mem(process).value()),
        map(process.maps().value()),
        modules(Modules::load(process, memory, map, {}).value()),
        capture(Arena::reserve(std::size_t{64} << 20, 0).value()) {
    const auto report = freeze_once(pid, {}, [&](const FrozenView& view) -> Result<void> {
      std::vector<Range> ranges;
      for (const auto& root : boehm::stack_roots(view.threads, map)) ranges.push_back(root.range);
      std::sort(ranges.begin(), ranges.end());
      return capture.add(memory, ranges, {});
    });
    REQUIRE_MESSAGE(report, why(report));
    auto found = unwind::walk_stacks(modules, model, capture, {report->threads, {}});
    REQUIRE_MESSAGE(found, why(found));
    stacks = std::move(*found);
  }

  // The names of the functions of a thread's frames, innermost first.
  [[nodiscard]] std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const unwind::FrameRecord& frame : stacks.stacks.at(0).frames) {
      const Module* module = modules.find(frame.pc);
      const auto symbol = module == nullptr ? std::nullopt : module->symbol_at(frame.pc);
      names.emplace_back(symbol ? symbol->name : "?");
    }
    return names;
  }
  // Whether a function of the target's own has a local variable with this name and type.
  [[nodiscard]] bool has_local(const std::string& function,
                               const std::string& name,
                               const std::string& type) const {
    const std::vector<std::string> names = functions();
    return std::any_of(stacks.locals.begin(), stacks.locals.end(), [&](const auto& local) {
      return names.at(local.frame) == function && local.name == name &&
             model[local.type].name == type;
    });
  }

  types::TypeModel model;
  Process process;
  LiveMemory memory;
  MemoryMap map;
  Modules modules;
  Capture capture;
  unwind::Stacks stacks;
};

bool placeholder_order(const std::vector<std::string>& functions,
                       const std::vector<std::string>& wanted) {
  const auto first = std::search(functions.begin(), functions.end(), wanted.begin(), wanted.end());
  return first != functions.end();
}

}  // namespace

TEST_CASE("the functions that a program waits in are found, whichever compiler was used") {
  for (const char* variant :
       {"gcc5", "gcc4", "units", "split", "clang5", "clang4", "gcc5_stripped", "optimised"}) {
    const std::string name = fmt::format("typed_c_{}", variant);
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    const SeenStacks seen(target.pid());
    CHECK(placeholder_order(seen.functions(),
                            {"wait_below", "hold_in_array", "hold_in_struct", "main"}));
    REQUIRE(seen.stacks.stacks.size() == 1);
    CHECK(seen.stacks.stacks[0].end == unwind::StackEnd::Outermost);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("the variables of the functions that a program waits in are found with their types") {
  for (const char* variant : {"gcc5", "gcc4", "units", "clang5", "clang4", "gcc5_stripped"}) {
    const std::string name = fmt::format("typed_c_{}", variant);
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    const SeenStacks seen(target.pid(), model_of({"struct session"}));
    CHECK(seen.has_local("wait_below", "parameter", "struct session *"));
    CHECK(seen.has_local("hold_in_array", "parent", "struct session *"));
    CHECK(seen.has_local("hold_in_array", "array", "struct session *[2]"));
    CHECK(seen.has_local("hold_in_struct", "inside", "struct session"));
    CHECK(seen.has_local("hold_in_struct", "plain", "struct session *"));
  }
}

}  // namespace heapattach
