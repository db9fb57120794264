#include "report/stacks/stack_report.h"

#include <fmt/format.h>

namespace heapattach::stacks {

namespace {

// The context that every program has.
constexpr std::string_view kDefaultContext = "DEFAULT";

std::string object_text(const FiberWait& wait, std::string_view fallback) {
  if (wait.object.value == 0) return std::string(wait.type.empty() ? fallback : wait.type);
  std::string text = wait.type.empty() ? fmt::format("{} at {}", fallback, wait.object)
                                       : fmt::format("{} {}", wait.type, wait.object);
  if (!wait.holder.empty()) text += fmt::format(" ({})", wait.holder);
  return text;
}

std::string descriptor_text(const FiberWait& wait) {
  if (!wait.descriptor.empty()) return wait.descriptor;
  return wait.type.empty() ? "a descriptor" : wait.type;
}

std::string awaited_text(const FiberWait& wait, const snapshot::WaitKindRow& kind) {
  switch (kind.waits_for) {
    case snapshot::WaitsFor::Nothing: break;
    case snapshot::WaitsFor::Object: return object_text(wait, kind.what);
    case snapshot::WaitsFor::Descriptor: return descriptor_text(wait);
    case snapshot::WaitsFor::Process:
      return wait.process ? fmt::format("process {}", *wait.process) : std::string(kind.what);
  }
  return {};
}

std::string wait_text(const FiberWait& wait, const snapshot::Fiber* owner) {
  const snapshot::WaitKindRow& kind = snapshot::wait_kind(wait.kind);
  std::string text = std::string(kind.words) + awaited_text(wait, kind);
  if (wait.kind == WaitKind::Mutex && owner != nullptr) {
    text += ", which " + title_of(*owner) + " holds";
  }
  return text;
}

NamedFrame frame_of(const PlaceSeen& place, std::size_t line, unwind::FoundBy found_by) {
  const bool is_inlined = line < place.inlined.size();
  const snapshot::CodeLine& code = is_inlined ? place.inlined[line] : place.at;
  NamedFrame frame;
  frame.function = code.function;
  frame.file = code.file;
  frame.line = code.line;
  frame.column = code.column;
  frame.is_inlined = is_inlined;
  frame.pc = RemoteAddr{place.pc};
  frame.module = place.module;
  frame.offset = place.offset;
  frame.found_by = found_by;
  frame.is_own = line < place.is_own.size() && place.is_own[line];
  frame.may_be_own = place.may_be_own;
  return frame;
}

}  // namespace

std::vector<std::string> texts_of(const std::vector<Statement>& statements) {
  std::vector<std::string> texts;
  texts.reserve(statements.size());
  for (const Statement& one : statements) texts.push_back(one.text);
  return texts;
}

std::vector<Statement> statements_of(const std::vector<std::string>& texts) {
  std::vector<Statement> statements;
  for (const std::string& text : texts) {
    Statement& one = statements.emplace_back();
    one.text = text;
    if (text.starts_with("deadlock")) one.kind = StatementKind::Deadlock;
    if (text.starts_with("busy")) one.kind = StatementKind::Busy;
  }
  return statements;
}

NamedStack named(const StackReport& report, std::optional<std::uint32_t> stack) {
  NamedStack result;
  if (!stack) return result;
  const snapshot::Stack& from = report.stacks.at(*stack);
  result.left_out = from.left_out;
  result.end = from.end;
  for (std::size_t i = 0; i < from.frames.size(); ++i) {
    if (from.left_out > 0 && i == from.left_out_behind) {
      result.left_out_behind = result.frames.size();
    }
    const PlaceSeen& place = report.places.at(from.frames[i].place);
    for (std::size_t line = 0; line <= place.inlined.size(); ++line) {
      result.frames.push_back(frame_of(place, line, from.frames[i].found_by));
    }
  }
  return result;
}

std::string function_at(std::string_view function, std::string_view file, std::uint32_t line) {
  if (file.empty() || line == 0) return std::string(function);
  return fmt::format("{} ({}:{})", function, file.substr(file.rfind('/') + 1), line);
}

std::string title_of(const snapshot::Thread& thread) {
  return fmt::format("thread {}{}{}", thread.tid, thread.name.empty() ? "" : " ", thread.name);
}

std::string title_of(const snapshot::Fiber& fiber) {
  return "fiber " + name_of(fiber);
}

std::string name_of(const snapshot::Fiber& fiber) {
  std::string title = fiber.name.empty() ? fmt::format("{}", RemoteAddr{fiber.address})
                                         : fmt::format("\"{}\"", fiber.name);
  if (!fiber.of_thread.empty()) title += " of thread " + fiber.of_thread;
  const bool is_default = fiber.context.empty() || fiber.context == kDefaultContext;
  if (!is_default && !fiber.is_of_runtime && fiber.context != fiber.name) {
    title += " of context " + fiber.context;
  }
  return title;
}

std::string describe_lock(const FiberWait& wait) {
  // A name that is a phrase is added to the lock, not used in its place.
  const bool is_name = !wait.holder.empty() && wait.holder.find(' ') == std::string::npos;
  return is_name ? wait.holder : object_text(wait, "a mutex");
}

std::string in_plural(std::string wait) {
  if (wait.starts_with("waits ")) wait.erase(4, 1);
  return wait;
}

std::string describe_wait(const FiberWait& wait, const snapshot::Fiber* owner) {
  std::string text = wait_text(wait, owner);
  if (wait.left) {
    text += fmt::format(", {:.1f} s left", static_cast<double>(wait.left->count()) / 1000);
  }
  return text;
}

}  // namespace heapattach::stacks
