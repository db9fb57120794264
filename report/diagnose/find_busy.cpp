// A thread that ran, or waited for a processor, at each of a dozen looks in a tenth of a second.
// A loop without end does that, but so does a program that computes. The thread is a fault only if
// it is proven to do harm: fibers that could run wait for it.

#include <algorithm>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

using stacks::FiberSeen;
using stacks::ThreadSeen;
using stacks::WaitKind;

bool could_run(const FiberSeen& fiber) {
  if (fiber.is_of_runtime || fiber.thread) return false;
  switch (fiber.wait.kind) {
    case WaitKind::Ready:
    case WaitKind::NotStarted: return true;
    case WaitKind::Sleep: return fiber.wait.left && fiber.wait.left->count() <= 0;
    default: return false;
  }
}

// The fibers that could run, if no thread looks for one.
std::uint64_t starving(const stacks::StackReport& report) {
  const auto is_looking = [](const ThreadSeen& thread) { return thread.is_idle; };
  if (std::any_of(report.threads.begin(), report.threads.end(), is_looking)) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(report.fibers.begin(), report.fibers.end(), could_run));
}

// "memcpy, called by crunch (crunch.c:12)".
std::string place_of(const stacks::StackReport& report, const ThreadSeen& thread) {
  std::string innermost;
  if (!thread.ruby) {
    const stacks::NamedStack stack = named(report, thread.stack);
    for (const stacks::NamedFrame& frame : stack.frames) {
      innermost = frame.function;
      if (!innermost.empty()) break;
    }
  }
  if (thread.function.empty()) return innermost;
  const bool is_own = innermost.empty() || thread.function.starts_with(innermost);
  return is_own ? thread.function : fmt::format("{}, for {}", innermost, thread.function);
}

std::vector<std::string> frames_of(const stacks::StackReport& report, const ThreadSeen& thread) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> lines;
  const stacks::NamedStack stack = named(report, thread.stack);
  for (const stacks::NamedFrame& frame : stack.frames) {
    if (frame.function.empty()) continue;
    if (lines.size() == kShown) break;
    lines.push_back(stacks::function_at(frame.function, frame.file, frame.line));
  }
  return lines;
}

}  // namespace

void find_busy(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  const stacks::StackReport& report = *evidence.stacks;
  const std::uint64_t kept_waiting = starving(report);
  for (const ThreadSeen& thread : report.threads) {
    if (!thread.is_busy || thread.is_idle || thread.is_of_kernel) continue;
    const bool is_harmful = kept_waiting > 0 && thread.fiber.has_value();
    Finding busy{.kind = "busy",
                 .severity = is_harmful ? Severity::Fault : Severity::Unusual,
                 .sentence = "busy: ",
                 .evidence = frames_of(report, thread),
                 .next = "stacks " + evidence.source};
    if (thread.fiber) busy.sentence += title_of(report.fibers.at(*thread.fiber)) + ", on ";
    busy.sentence += title_of(thread) + " never gave up its processor";
    if (const std::string place = place_of(report, thread); !place.empty())
      busy.sentence += ", in " + place;
    busy.sentence += is_harmful ? fmt::format("; {} could run meanwhile, but not on that thread",
                                              counted(kept_waiting, "fiber"))
                                : "; this is work, or a loop that does not end";
    found.push_back(std::move(busy));
  }
}

}  // namespace heapattach::diagnose
