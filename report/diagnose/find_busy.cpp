// A thread that ran, or waited for a processor, at each of a dozen looks in a tenth of a second.
// A loop without end does that, but so does a program that computes. The thread is a fault only if
// it is proven to do harm: fibers that could run wait for it.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

using stacks::FiberSeen;
using stacks::ThreadSeen;
using stacks::WaitKind;

bool is_runnable(const FiberSeen& fiber) {
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
      std::count_if(report.fibers.begin(), report.fibers.end(), is_runnable));
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

// The innermost frames; a function that calls itself on one line is one of them.
std::vector<std::string> frames_of(const stacks::StackReport& report, const ThreadSeen& thread) {
  constexpr std::size_t kShown = 4;
  std::vector<std::pair<std::string, std::size_t>> frames;
  const stacks::NamedStack stack = named(report, thread.stack);
  for (const stacks::NamedFrame& frame : stack.frames) {
    if (frame.function.empty()) continue;
    std::string line = stacks::function_at(frame.function, frame.file, frame.line);
    if (!frames.empty() && frames.back().first == line) {
      ++frames.back().second;
    } else if (frames.size() == kShown) {
      break;
    } else {
      frames.emplace_back(std::move(line), 1);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(frames.size());
  for (const auto& [line, times] : frames) {
    lines.push_back(times == 1 ? line : fmt::format("{}, {} times", line, times));
  }
  return lines;
}

// Busy threads in one place, which run no fiber; or one that does.
struct BusyPlace {
  std::string place;
  std::vector<const ThreadSeen*> threads;
};

std::vector<BusyPlace> busy_places(const stacks::StackReport& report) {
  std::vector<BusyPlace> places;
  for (const ThreadSeen& thread : report.threads) {
    if (!thread.is_busy || thread.is_idle || thread.is_of_kernel) continue;
    std::string place = place_of(report, thread);
    const auto same = std::find_if(places.begin(), places.end(), [&](const BusyPlace& one) {
      return !thread.fiber && !one.threads.front()->fiber && one.place == place;
    });
    if (same != places.end()) {
      same->threads.push_back(&thread);
    } else {
      places.push_back({std::move(place), {&thread}});
    }
  }
  return places;
}

std::string sentence_of(const stacks::StackReport& report,
                        const BusyPlace& busy,
                        std::uint64_t kept_waiting) {
  const ThreadSeen& first = *busy.threads.front();
  const bool is_one = busy.threads.size() == 1;
  std::string text = "busy: ";
  if (first.fiber) text += title_of(report.fibers.at(*first.fiber)) + ", on ";
  text += is_one ? title_of(first) + " never gave up its processor"
                 : fmt::format("{} threads never gave up their processors", busy.threads.size());
  if (!busy.place.empty()) text += ", in " + busy.place;
  if (kept_waiting > 0) {
    return text + fmt::format("; {} could run meanwhile, but not on that thread",
                              counted(kept_waiting, "fiber"));
  }
  return text + (is_one ? "; this is work, or a loop that does not end"
                        : "; this is work, or loops that do not end");
}

}  // namespace

void find_busy(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  const stacks::StackReport& report = *evidence.stacks;
  const std::uint64_t could_run = starving(report);
  for (const BusyPlace& busy : busy_places(report)) {
    const ThreadSeen& first = *busy.threads.front();
    const std::uint64_t kept_waiting = first.fiber ? could_run : 0;
    Finding finding{.kind = "busy",
                    .severity = kept_waiting > 0 ? Severity::Fault : Severity::Unusual,
                    .sentence = sentence_of(report, busy, kept_waiting),
                    .evidence = frames_of(report, first),
                    .next = "stacks " + evidence.source};
    if (busy.threads.size() > 1) {
      finding.evidence.insert(finding.evidence.begin(), "for instance " + title_of(first) + ":");
    }
    found.push_back(std::move(finding));
  }
}

}  // namespace heapattach::diagnose
