#include "report/analyze/roots.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/analyze/explaining_roots.h"
#include "report/analyze/fibers.h"
#include "report/glob.h"
#include "report/model/frame_words.h"
#include "report/short_names.h"
#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

using snapshot::Root;
using snapshot::RootWord;
using snapshot::Snapshot;

// The rank of a root among those of its quality; the smallest is the best.
int rank_of(const Root& root) {
  const snapshot::RootKindRow& kind = snapshot::root_kind(root.kind);
  const bool is_local = kind.word != RootWord::InVariable && !root.variable.empty();
  return is_local ? 1 : kind.rank;
}

const snapshot::Thread* thread_of(const Snapshot& snapshot, const Root& root) {
  const auto found =
      std::find_if(snapshot.threads.begin(), snapshot.threads.end(),
                   [&](const snapshot::Thread& thread) { return thread.tid == root.thread; });
  return found == snapshot.threads.end() ? nullptr : &*found;
}

const snapshot::Fiber* fiber_of(const Snapshot& snapshot, const Root& root) {
  const auto found =
      std::find_if(snapshot.fibers.begin(), snapshot.fibers.end(),
                   [&](const snapshot::Fiber& fiber) { return fiber.address == root.fiber; });
  return found == snapshot.fibers.end() ? nullptr : &*found;
}

// The root's frame on the stack. Its numbers are checked, because they may come from a file.
std::optional<RootFrame> frame_on(const Snapshot& snapshot,
                                  const snapshot::Stack* stack,
                                  const Root& root) {
  if (stack == nullptr || !root.frame || *root.frame >= stack->frames.size()) return {};
  const snapshot::Frame& frame = stack->frames[*root.frame];
  RootFrame found;
  const bool is_after = stack->left_out != 0 && *root.frame >= stack->left_out_behind;
  found.number = *root.frame + (is_after ? stack->left_out : 0);
  found.place = &snapshot.places[frame.place];
  const bool is_inlined = root.inlined && *root.inlined < found.place->inlined.size();
  found.line = is_inlined ? &found.place->inlined[*root.inlined] : &found.place->at;
  found.is_guess = snapshot::is_guess(frame.found_by);
  return found;
}

std::string thread_in_words(const Snapshot& snapshot, const Root& root) {
  if (!root.thread) return std::string(snapshot::root_kind(root.kind).one);
  const snapshot::Thread* const thread = thread_of(snapshot, root);
  const bool has_name = thread != nullptr && !thread->name.empty();
  return fmt::format("thread {}{}{}", *root.thread, has_name ? " " : "",
                     has_name ? thread->name : "");
}

std::string fiber_in_words(const Snapshot& snapshot, const Root& root) {
  const snapshot::Fiber* const fiber = fiber_of(snapshot, root);
  if (fiber == nullptr || fiber->name.empty()) return fmt::format("fiber {:#x}", *root.fiber);
  return fmt::format("fiber {} ({:#x})", fiber->name, fiber->address);
}

// "frame 3 handle_request (src/app.cr:55)"
std::string frame_in_words(const RootFrame& frame) {
  const snapshot::CodeLine& line = *frame.line;
  std::string text =
      fmt::format("frame {} {}", frame.number, line.function.empty() ? "?" : line.function);
  std::string where = frame.place->module;
  if (!line.file.empty()) {
    where = line.line == 0 ? line.file : fmt::format("{}:{}", line.file, line.line);
  }
  const auto add = [&where](std::string_view more) {
    where += fmt::format("{}{}", where.empty() ? "" : ", ", more);
  };
  if (frame.line != &frame.place->at) add("inlined into " + frame.place->at.function);
  if (frame.is_guess) add("guessed");
  if (!where.empty()) text += fmt::format(" ({})", where);
  return text;
}

// The fiber of the program that the root's thread runs; null if that is a main fiber, which a
// reader expects there.
const snapshot::Fiber* fiber_on_thread(const Snapshot& snapshot, const Root& root) {
  const auto found = std::find_if(
      snapshot.fibers.begin(), snapshot.fibers.end(), [&](const snapshot::Fiber& fiber) {
        const bool is_own = !fiber.is_of_runtime && fiber.of_thread.empty() && fiber.name != "main";
        return is_own && fiber.thread && snapshot.threads[*fiber.thread].tid == root.thread;
      });
  return found == snapshot.fibers.end() ? nullptr : &*found;
}

// "thread 4711 worker, frame 3 handle_request (src/app.cr:55), variable session"; if the frame is
// unknown, "stack of thread 4711 worker at 0x7ffd…".
std::string stack_in_words(const Snapshot& snapshot, const Root& root) {
  std::string whose = root.thread || !root.fiber ? thread_in_words(snapshot, root) : std::string();
  if (root.fiber) whose += (whose.empty() ? "" : ", ") + fiber_in_words(snapshot, root);
  const snapshot::Fiber* const running = root.fiber ? nullptr : fiber_on_thread(snapshot, root);
  if (running != nullptr && !running->name.empty()) {
    whose += fmt::format(", fiber {} ({:#x})", running->name, running->address);
  }
  const auto frame = frame_of(snapshot, root);
  const std::string on = frame ? fmt::format("{}, {}", whose, frame_in_words(*frame))
                               : fmt::format("stack of {}", whose);
  if (!root.variable.empty()) return fmt::format("{}, variable {}", on, root.variable);
  const std::string_view what = is_leftover(snapshot, root) ? ", a leftover word"
                                : frame                     ? ","
                                                            : "";
  return fmt::format("{}{} at {:#x}", on, what, root.address);
}

std::string register_in_words(const Snapshot& snapshot, const Root& root) {
  std::string text = fmt::format("register {} of {}", root.symbol, thread_in_words(snapshot, root));
  if (const auto frame = frame_of(snapshot, root)) text += ", " + frame_in_words(*frame);
  if (!root.variable.empty()) text += ", variable " + root.variable;
  if (is_leftover(snapshot, root)) text += ", a leftover word";
  return text;
}

std::string global_in_words(const Root& root, const std::string& name) {
  std::string text = name.empty() ? "global memory" : "global " + name;
  if (!root.module.empty()) text += " of " + root.module;
  return text;
}

}  // namespace

RootOrder::RootOrder(const Snapshot& snapshot) {
  analyze::ExplainingRoots explaining = analyze::explaining_roots(snapshot);
  numbers = std::move(explaining.numbers);
  quality_ends = std::move(explaining.quality_ends);
  auto first = numbers.begin();
  for (const std::size_t end : quality_ends) {
    const auto last = numbers.begin() + static_cast<std::ptrdiff_t>(end);
    std::stable_sort(first, last, [&](std::uint32_t a, std::uint32_t b) {
      return rank_of(snapshot.roots[a]) < rank_of(snapshot.roots[b]);
    });
    first = last;
  }
  objects = analyze::objects_of(snapshot, numbers);
  entered_last = fiber_objects(snapshot);
}

Result<RootOrder> RootOrder::called(const Snapshot& snapshot, const std::string& name) const {
  const auto in_words = [&](std::uint32_t number) {
    return root_in_words(snapshot, snapshot.roots[number]);
  };
  std::vector<std::string> texts;
  for (const std::uint32_t number : numbers) texts.push_back(in_words(number));
  std::vector<std::string_view> known(texts.begin(), texts.end());
  for (const std::uint32_t number : numbers) {
    const Root& root = snapshot.roots[number];
    if (!root.symbol.empty()) known.push_back(root.symbol);
    if (!root.variable.empty()) known.push_back(root.variable);
  }
  const NamedType named = find_root_name(name, known);
  if (named.name.empty()) return Error{ErrorKind::Malformed, named.problem};

  RootOrder chosen = *this;
  chosen.numbers.clear();
  chosen.quality_ends.clear();
  std::size_t at = 0;
  for (const std::size_t end : quality_ends) {
    for (; at < end; ++at) {
      const Root& root = snapshot.roots[numbers[at]];
      const bool is_meant = matches_glob(named.name, root.symbol) ||
                            matches_glob(named.name, root.variable) ||
                            matches_glob(named.name, texts[at]);
      if (is_meant) chosen.numbers.push_back(numbers[at]);
    }
    chosen.quality_ends.push_back(chosen.numbers.size());
  }
  chosen.objects = analyze::objects_of(snapshot, chosen.numbers);
  return chosen;
}

std::optional<RootFrame> frame_of(const Snapshot& snapshot, const Root& root) {
  std::optional<std::uint32_t> stack;
  if (root.thread) {
    const auto* const thread = thread_of(snapshot, root);
    if (thread != nullptr) stack = thread->stack;
  } else if (root.fiber) {
    const auto* const fiber = fiber_of(snapshot, root);
    if (fiber != nullptr) stack = fiber->stack;
  }
  return frame_on(snapshot, stack ? &snapshot.stacks[*stack] : nullptr, root);
}

std::string root_in_words(const Snapshot& snapshot, const Root& root) {
  const snapshot::RootKindRow& kind = snapshot::root_kind(root.kind);
  switch (kind.word) {
    case RootWord::InVariable: {
      const std::string text =
          global_in_words(root, root.variable.empty() ? root.symbol : root.variable);
      return root.symbol.empty() ? fmt::format("{} at {:#x}", text, root.address) : text;
    }
    case RootWord::InRegister: return register_in_words(snapshot, root);
    case RootWord::OnStack: return stack_in_words(snapshot, root);
    case RootWord::Elsewhere: break;
  }
  return std::string(kind.one);
}

RootInWords same_in_words(const Root& root) {
  const RootWord word = snapshot::root_kind(root.kind).word;
  const std::string& name = word == RootWord::OnStack ? root.variable : root.symbol;
  const bool has_name = word == RootWord::Elsewhere || !name.empty();
  return {root.to,     root.kind,  root.thread,  root.fiber,    root.symbol,
          root.module, root.frame, root.inlined, root.variable, has_name ? 0 : root.address};
}

std::string object_in_words(const Snapshot& snapshot, snapshot::ObjectIndex object) {
  const snapshot::Object& found = snapshot.objects[object];
  std::string text = fmt::format("{:#x} {}", std::uint64_t{found.address},
                                 shown_type_name(snapshot.types[found.type].name));
  const snapshot::Fiber* const fiber = fiber_at(snapshot, object);
  if (fiber != nullptr && !fiber->name.empty()) text += fmt::format(" \"{}\"", fiber->name);
  return text;
}

bool is_leftover(const Snapshot& snapshot, const Root& root) {
  return analyze::RootQualities(snapshot).of(root) == analyze::RootQuality::Leftover;
}

RootKinds::RootKinds(const Snapshot& snapshot) : snapshot_(snapshot), qualities_(snapshot) {}

std::string RootKinds::in_words(const Root& root) {
  const snapshot::RootKindRow& kind = snapshot::root_kind(root.kind);
  const std::string_view where = kind.all;
  const std::string_view at = kind.word == RootWord::InRegister ? "in" : "on";
  if (kind.word == RootWord::InVariable) return global_in_words(root, root.symbol);
  if (kind.word == RootWord::Elsewhere) return std::string(where);
  if (qualities_.of(root) == analyze::RootQuality::Leftover) {
    return fmt::format("leftover words {} {}", at, where);
  }
  const auto frame = frame_on(snapshot_, qualities_.stack_of(root), root);
  if (!frame || frame->line->function.empty()) return std::string(where);
  const std::string variable =
      root.variable.empty() ? "" : fmt::format("variable {} of ", root.variable);
  return fmt::format("{}{} {} {}", variable, frame->line->function, at, where);
}

}  // namespace heapattach::analyze
