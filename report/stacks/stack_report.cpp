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

std::string wait_text(const StackReport& report, const FiberWait& wait) {
  const snapshot::WaitKindRow& kind = snapshot::wait_kind(wait.kind);
  std::string text = std::string(kind.words) + awaited_text(wait, kind);
  if (wait.kind == WaitKind::Mutex && wait.owner && *wait.owner < report.fibers.size()) {
    text += ", which " + title_of(report.fibers[*wait.owner]) + " holds";
  }
  return text;
}

}  // namespace

std::string title_of(const ThreadSeen& thread) {
  return fmt::format("thread {}{}{}", thread.tid, thread.name.empty() ? "" : " ", thread.name);
}

std::string title_of(const FiberSeen& fiber) {
  return "fiber " + name_of(fiber);
}

std::string name_of(const FiberSeen& fiber) {
  std::string title =
      fiber.name.empty() ? fmt::format("{}", fiber.address) : fmt::format("\"{}\"", fiber.name);
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

std::string describe_wait(const StackReport& report, const FiberWait& wait) {
  std::string text = wait_text(report, wait);
  if (wait.left) {
    text += fmt::format(", {:.1f} s left", static_cast<double>(wait.left->count()) / 1000);
  }
  return text;
}

}  // namespace heapattach::stacks
