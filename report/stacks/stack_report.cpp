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

std::string mutex_text(const StackReport& report, const FiberWait& wait) {
  std::string text = "waits for " + object_text(wait, "a mutex");
  if (wait.owner && *wait.owner < report.fibers.size()) {
    text += ", which " + title_of(report.fibers[*wait.owner]) + " holds";
  }
  return text;
}

std::string wait_text(const StackReport& report, const FiberWait& wait) {
  switch (wait.kind) {
    case WaitKind::Unknown: return "is suspended; the reason is unknown";
    case WaitKind::Running: return "runs";
    case WaitKind::Scheduling: return "serves the scheduler";
    case WaitKind::Ready: return "is ready to run";
    case WaitKind::NotStarted: return "has not run yet";
    case WaitKind::Ended: return "has ended";
    case WaitKind::Receive: return "waits to receive from " + object_text(wait, "a channel");
    case WaitKind::Send: return "waits to send to " + object_text(wait, "a channel");
    case WaitKind::Channel: return "waits for " + object_text(wait, "a channel");
    case WaitKind::Select: return "waits for one of several channels";
    case WaitKind::Mutex: return mutex_text(report, wait);
    case WaitKind::Condition: return "waits for " + object_text(wait, "a condition variable");
    case WaitKind::WaitGroup: return "waits for " + object_text(wait, "a WaitGroup");
    case WaitKind::Once: return "waits for another fiber to initialize a constant or variable";
    case WaitKind::Descriptor: return "waits for others to finish with " + descriptor_text(wait);
    case WaitKind::Context:
      return "waits for the end of " + object_text(wait, "an isolated context");
    case WaitKind::Process:
      return wait.process ? fmt::format("waits for the end of process {}", *wait.process)
                          : "waits for the end of a process";
    case WaitKind::Thread: return "waits for the end of a thread, and blocks its own";
    case WaitKind::Resolve: return "looks up a host's address, and blocks its thread";
    case WaitKind::Io: return "waits for " + descriptor_text(wait);
    case WaitKind::Read: return "waits to read from " + descriptor_text(wait);
    case WaitKind::Write: return "waits to write to " + descriptor_text(wait);
    case WaitKind::Accept: return "waits for a connection to " + descriptor_text(wait);
    case WaitKind::Connect: return "waits to be connected, " + descriptor_text(wait);
    case WaitKind::Sleep: return "sleeps";
    case WaitKind::SleepForever: return "sleeps forever";
  }
  return {};
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

std::string describe_wait(const StackReport& report, const FiberWait& wait) {
  std::string text = wait_text(report, wait);
  if (wait.left) {
    text += fmt::format(", {:.1f} s left", static_cast<double>(wait.left->count()) / 1000);
  }
  return text;
}

}  // namespace heapattach::stacks
