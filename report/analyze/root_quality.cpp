#include "report/analyze/root_quality.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "report/model/collector_variable.h"
#include "report/redact/library_names.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::analyze {

namespace {

using snapshot::Root;
using snapshot::RootWord;

bool is_collector_module(std::string_view module) {
  return module.starts_with("libgc.so");
}

bool is_loader_module(std::string_view module) {
  return module.starts_with("ld-linux") || module.starts_with("ld-musl") ||
         module.starts_with("ld-2.") || module.starts_with("ld.so");
}

// Whether threads begin in this function of the C library. The library may be linked into the
// program.
bool starts_threads(std::string_view function) {
  constexpr std::string_view kNames[] = {"clone",        "clone3", "__clone",  "__clone3",
                                         "start_thread", "_start", "__clone2", "thread_start"};
  return std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames) ||
         function.starts_with("__libc_start");
}

// The class of a function: "Fiber" of "Fiber#run", "Channel" of "Channel(Int32)#receive",
// "Crystal::System" of "Crystal::System::sleep"; empty for a function without a class.
std::string_view class_of(std::string_view function) {
  function = function.substr(0, function.find_first_of("(<#."));
  const std::size_t colons = function.rfind("::");
  const std::string_view last =
      colons == std::string_view::npos ? function : function.substr(colons + 2);
  const bool is_class = !last.empty() && std::isupper(static_cast<unsigned char>(last[0])) != 0;
  if (is_class) return function;
  return colons == std::string_view::npos ? std::string_view{} : function.substr(0, colons);
}

// The directory of Crystal's library, from the file main.cr: the main fiber of every program is in
// it.
std::string_view find_crystal_library(const snapshot::Snapshot& snapshot) {
  constexpr std::string_view kMain = "/crystal/main.cr";
  for (const snapshot::Place& place : snapshot.places) {
    const std::string_view file = place.at.file;
    if (file.ends_with(kMain)) return file.substr(0, file.size() - kMain.size() + 1);
  }
  return {};
}

}  // namespace

RootQualities::RootQualities(const snapshot::Snapshot& snapshot)
    : snapshot_(snapshot),
      crystal_library_(find_crystal_library(snapshot)),
      owners_(snapshot.places.size(), FrameOf::Unseen),
      idle_(snapshot.stacks.size()) {
  for (const snapshot::Thread& thread : snapshot.threads) {
    if (thread.stack) threads_.emplace(thread.tid, *thread.stack);
  }
  for (const snapshot::Fiber& fiber : snapshot.fibers) {
    if (fiber.stack) fibers_.emplace(fiber.address, *fiber.stack);
    known_fibers_.emplace(fiber.address, &fiber);
  }
}

const snapshot::Stack* RootQualities::stack_of(const Root& root) const {
  if (root.thread) {
    const auto found = threads_.find(*root.thread);
    return found == threads_.end() ? nullptr : &snapshot_.stacks[found->second];
  }
  const auto found = root.fiber ? fibers_.find(*root.fiber) : fibers_.end();
  return found == fibers_.end() ? nullptr : &snapshot_.stacks[found->second];
}

RootQuality RootQualities::of(const Root& root) {
  const snapshot::RootKindRow& kind = snapshot::root_kind(root.kind);
  switch (kind.word) {
    case RootWord::InVariable:
      if (is_collector_module(root.module) || is_loader_module(root.module) ||
          snapshot::is_collector_variable(root.symbol)) {
        return RootQuality::Collector;
      }
      return root.symbol.empty() ? RootQuality::Memory : kind.quality;
    case RootWord::OnStack:
    case RootWord::InRegister: return on_stack(root);
    case RootWord::Elsewhere: break;
  }
  return kind.quality;
}

RootQuality RootQualities::on_stack(const Root& root) {
  const bool is_variable = !root.variable.empty();
  const snapshot::Stack* const stack = stack_of(root);
  if (stack == nullptr) return is_variable ? RootQuality::Variable : RootQuality::Word;
  if (root.is_below_stack_pointer && !is_variable) return RootQuality::Leftover;
  if (!root.frame || *root.frame >= stack->frames.size()) {
    return is_variable ? RootQuality::Variable : RootQuality::RuntimeWord;
  }
  const RootQuality quality = in_frame(root, *stack);
  const bool is_passing = passes_fiber(root, stack->frames[*root.frame]);
  return is_passing ? std::max(quality, RootQuality::Collector) : quality;
}

RootQuality RootQualities::in_frame(const Root& root, const snapshot::Stack& stack) {
  const bool is_variable = !root.variable.empty();
  const FrameOf owner = owner_of(stack.frames[*root.frame]);
  if (owner == FrameOf::Collector || is_idle(stack)) {
    return is_variable ? RootQuality::RuntimeWord : RootQuality::Leftover;
  }
  if (is_variable) {
    return is_of_library(root, stack.frames[*root.frame]) ? RootQuality::LibraryVariable
                                                          : RootQuality::Variable;
  }
  return owner == FrameOf::Program ? RootQuality::Word : RootQuality::RuntimeWord;
}

bool RootQualities::passes_fiber(const Root& root, const snapshot::Frame& frame) const {
  const auto found = known_fibers_.find(snapshot_.objects[root.to].address);
  const FrameOf owner = owners_[frame.place];
  if (found == known_fibers_.end() || owner != FrameOf::Runtime) return false;
  const snapshot::Fiber& fiber = *found->second;
  const bool is_on_thread =
      fiber.thread && root.thread && snapshot_.threads[*fiber.thread].tid == *root.thread;
  if (root.fiber != fiber.address && !is_on_thread) return true;
  // On the fiber's own stack, a variable of Fiber#run, the first frame, does not only pass it on.
  return !root.variable.empty() && class_of(snapshot_.places[frame.place].at.function) != "Fiber";
}

bool RootQualities::is_of_library(const Root& root, const snapshot::Frame& frame) const {
  if (snapshot_.header.runtime == "crystal") return false;
  const snapshot::Place& place = snapshot_.places[frame.place];
  const bool is_inlined = root.inlined && *root.inlined < place.inlined.size();
  const snapshot::CodeLine& line = is_inlined ? place.inlined[*root.inlined] : place.at;
  return line.file.starts_with("/usr/include/") || line.function.starts_with("std::") ||
         line.function.starts_with("__gnu_cxx::");
}

RootQualities::FrameOf RootQualities::owner_of(const snapshot::Frame& frame) {
  FrameOf& owner = owners_[frame.place];
  if (owner == FrameOf::Unseen) owner = see(snapshot_.places[frame.place]);
  return owner;
}

RootQualities::FrameOf RootQualities::see(const snapshot::Place& place) const {
  const std::string_view function = place.at.function;
  if (is_collector_module(place.module) || is_loader_module(place.module) ||
      function.starts_with("GC_") || function.starts_with("_dl_")) {
    return FrameOf::Collector;
  }
  if (is_library_file(place.module) || starts_threads(function)) return FrameOf::Runtime;
  const bool is_crystal = snapshot_.header.runtime == "crystal";
  if (is_crystal && !crystal_library_.empty() && !place.at.file.empty()) {
    return place.at.file.starts_with(crystal_library_) ? FrameOf::Runtime : FrameOf::Program;
  }
  const std::string_view name = class_of(function);
  const bool is_library = is_library_type(name, language_of(snapshot_.header.runtime));
  return !name.empty() && is_library ? FrameOf::Runtime : FrameOf::Program;
}

// Whether the stack belongs to a thread of the runtime: it has no code of the program.
bool RootQualities::is_idle(const snapshot::Stack& stack) {
  std::uint8_t& known = idle_[static_cast<std::size_t>(&stack - snapshot_.stacks.data())];
  if (known == 0) {
    const bool has_program = std::any_of(
        stack.frames.begin(), stack.frames.end(),
        [this](const snapshot::Frame& frame) { return owner_of(frame) == FrameOf::Program; });
    const bool has_all = stack.end == unwind::StackEnd::Outermost && stack.left_out == 0;
    known = has_program || !has_all || stack.frames.empty() ? 1 : 2;
  }
  return known == 2;
}

}  // namespace heapattach::analyze
