#include "report/stacks/stack_report.h"

#include <fmt/format.h>

namespace heapattach::stacks {

namespace {

std::string object_text(const FiberWait& wait, std::string_view fallback) {
  if (wait.object.value == 0) return std::string(fallback);
  return fmt::format("{} {}", wait.type, wait.object);
}

std::string descriptor_text(const FiberWait& wait) {
  if (!wait.descriptor.empty()) return wait.descriptor;
  return wait.type.empty() ? "a descriptor" : wait.type;
}

}  // namespace

std::string title_of(const ThreadSeen& thread) {
  return fmt::format("thread {}{}{}", thread.tid, thread.name.empty() ? "" : " ", thread.name);
}

std::string title_of(const FiberSeen& fiber) {
  if (fiber.name.empty()) return fmt::format("fiber {}", fiber.address);
  return fmt::format("fiber \"{}\"", fiber.name);
}

std::string describe_wait(const StackReport& report, const FiberWait& wait) {
  switch (wait.kind) {
    case WaitKind::Unknown: return "suspended";
    case WaitKind::Running: return "runs";
    case WaitKind::Ready: return "is ready to run";
    case WaitKind::NotStarted: return "has not run yet";
    case WaitKind::Receive: return "waits to receive from " + object_text(wait, "a channel");
    case WaitKind::Send: return "waits to send to " + object_text(wait, "a channel");
    case WaitKind::Select: return "waits for one of several channels";
    case WaitKind::Read: return "waits to read from " + descriptor_text(wait);
    case WaitKind::Write: return "waits to write to " + descriptor_text(wait);
    case WaitKind::Mutex: {
      std::string text = "waits for " + object_text(wait, "a mutex");
      if (wait.owner && *wait.owner < report.fibers.size()) {
        text += " of " + title_of(report.fibers[*wait.owner]);
      }
      return text;
    }
    case WaitKind::Sleep: {
      if (!wait.left) return "sleeps";
      return fmt::format("sleeps, {:.1f} s left", static_cast<double>(wait.left->count()) / 1000);
    }
  }
  return {};
}

}  // namespace heapattach::stacks
