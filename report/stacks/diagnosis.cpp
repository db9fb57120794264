#include "report/stacks/diagnosis.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace heapattach::stacks {

namespace {

constexpr std::size_t kMostCycles = 5;

// The cycles of a graph in which each node leads to one other at most.
template <class Next>
std::vector<std::vector<std::size_t>> cycles_of(std::size_t count, const Next& next) {
  constexpr std::size_t kUnseen = 0;
  std::vector<std::size_t> seen_in(count, kUnseen);
  std::vector<std::vector<std::size_t>> cycles;
  for (std::size_t start = 0; start < count && cycles.size() < kMostCycles; ++start) {
    std::vector<std::size_t> path;
    std::optional<std::size_t> at = start;
    while (at && *at < count && seen_in[*at] == kUnseen) {
      seen_in[*at] = start + 1;
      path.push_back(*at);
      at = next(*at);
    }
    if (!at || *at >= count || seen_in[*at] != start + 1) continue;
    cycles.emplace_back(std::find(path.begin(), path.end(), *at), path.end());
  }
  return cycles;
}

template <class Seen>
std::string cycle_text(const std::vector<std::size_t>& cycle, const std::vector<Seen>& all) {
  constexpr std::size_t kShown = 8;
  if (cycle.size() == 1) {
    return fmt::format("deadlock: {} waits for a mutex that it holds itself",
                       title_of(all[cycle[0]]));
  }
  std::string text = fmt::format("deadlock: {} waits for a mutex of ", title_of(all[cycle[0]]));
  for (std::size_t i = 1; i < std::min(cycle.size(), kShown); ++i) {
    text += fmt::format("{}, which waits for a mutex of ", title_of(all[cycle[i]]));
  }
  if (cycle.size() > kShown) text += fmt::format("… {} more … ", cycle.size() - kShown);
  return text + title_of(all[cycle[0]]);
}

void add_cycles(const StackReport& report, std::vector<std::string>& findings) {
  const auto of_thread = [&](std::size_t i) { return report.threads[i].waits_for; };
  for (const auto& cycle : cycles_of(report.threads.size(), of_thread)) {
    findings.push_back(cycle_text(cycle, report.threads));
  }
  const auto of_fiber = [&](std::size_t i) { return report.fibers[i].wait.owner; };
  for (const auto& cycle : cycles_of(report.fibers.size(), of_fiber)) {
    findings.push_back(cycle_text(cycle, report.fibers));
  }
}

// A wait with a limit ends by itself.
bool needs_another_fiber(const FiberWait& wait) {
  return !wait.left && (wait.kind == WaitKind::Receive || wait.kind == WaitKind::Send ||
                        wait.kind == WaitKind::Select || wait.kind == WaitKind::Mutex);
}

// The channel for which most fibers wait in the same way.
struct Crowd {
  WaitKind kind = WaitKind::Unknown;
  RemoteAddr channel;
  std::size_t fibers = 0;
  std::size_t example = 0;
};

Crowd largest_crowd(const StackReport& report) {
  std::map<std::pair<WaitKind, RemoteAddr>, Crowd> crowds;
  Crowd largest;
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    const FiberSeen& fiber = report.fibers[i];
    const bool is_channel =
        fiber.wait.kind == WaitKind::Receive || fiber.wait.kind == WaitKind::Send;
    if (fiber.is_of_runtime || !is_channel || fiber.wait.object.value == 0) continue;
    Crowd& crowd = crowds[{fiber.wait.kind, fiber.wait.object}];
    if (crowd.fibers == 0) crowd = {fiber.wait.kind, fiber.wait.object, 0, i};
    if (++crowd.fibers > largest.fibers) largest = crowd;
  }
  return largest;
}

// Some of those who wait for others, with what for.
std::string examples(const StackReport& report) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t count = 0;
  for (const FiberSeen& fiber : report.fibers) {
    if (fiber.is_of_runtime || !needs_another_fiber(fiber.wait)) continue;
    if (++count > kShown) return text + ", …";
    text += fmt::format("{}{} {}", count == 1 ? "" : "; ", title_of(fiber),
                        describe_wait(report, fiber.wait));
  }
  return text;
}

// Fibers that only fibers could wake.
void add_waiting_fibers(const StackReport& report, std::vector<std::string>& findings) {
  std::size_t all = 0;
  std::size_t need_others = 0;
  for (const FiberSeen& fiber : report.fibers) {
    if (fiber.is_of_runtime) continue;
    ++all;
    if (needs_another_fiber(fiber.wait)) ++need_others;
  }
  if (all == 0 || need_others == 0) return;
  const Crowd crowd = largest_crowd(report);
  const std::string doing =
      crowd.fibers == 0 ? std::string() : describe_wait(report, report.fibers[crowd.example].wait);
  if (need_others == all && crowd.fibers == all) {
    findings.push_back(
        fmt::format("deadlock: {} {}, and nobody is left to {}",
                    all == 1 ? "the only fiber" : fmt::format("each of all {} fibers", all), doing,
                    crowd.kind == WaitKind::Receive ? "send" : "receive"));
  } else if (need_others == all) {
    findings.push_back(
        fmt::format("deadlock: {} for channels or mutexes, and nobody is left to wake them: {}",
                    all == 1 ? "the only fiber waits" : fmt::format("all {} fibers wait", all),
                    examples(report)));
  } else if (crowd.fibers > 2 && crowd.fibers * 2 > all) {
    findings.push_back(
        fmt::format("waiting: each of {} fibers of {} {}", crowd.fibers, all, doing));
  } else if (need_others > 1 && need_others * 2 > all) {
    findings.push_back(fmt::format("waiting: {} of {} fibers for other fibers: {}", need_others,
                                   all, examples(report)));
  }
}

std::string innermost_function(const NamedStack& stack) {
  for (const NamedFrame& frame : stack.frames) {
    if (!frame.function.empty()) return frame.function;
  }
  return {};
}

void add_busy_threads(const StackReport& report, std::vector<std::string>& findings) {
  const auto suspended =
      std::count_if(report.fibers.begin(), report.fibers.end(),
                    [](const FiberSeen& fiber) { return !fiber.is_of_runtime && !fiber.thread; });
  for (const ThreadSeen& thread : report.threads) {
    if (!thread.is_busy || thread.is_idle) continue;
    const std::string function = innermost_function(thread.stack);
    std::string text = fmt::format(
        "busy: {} does not let go of its processor{}{}",
        thread.fiber
            ? fmt::format("{}, on {},", title_of(report.fibers.at(*thread.fiber)), title_of(thread))
            : title_of(thread),
        function.empty() ? "" : ", in ", function);
    if (thread.fiber && suspended > 0) {
      text += fmt::format("; {} fiber{} cannot run there meanwhile", suspended,
                          suspended == 1 ? "" : "s");
    }
    findings.push_back(std::move(text));
  }
}

// Those who wait for a thread that waits for nobody.
void add_held_up_threads(const StackReport& report, std::vector<std::string>& findings) {
  std::map<std::size_t, std::size_t> waiting_for;
  for (const ThreadSeen& thread : report.threads) {
    if (thread.waits_for) ++waiting_for[*thread.waits_for];
  }
  for (const auto& [owner, count] : waiting_for) {
    const ThreadSeen& thread = report.threads[owner];
    if (thread.waits_for) continue;
    findings.push_back(fmt::format("waiting: {} thread{} for a mutex of {}{}", count,
                                   count == 1 ? "" : "s", title_of(thread),
                                   thread.call.empty() ? "" : ", which is in " + thread.call));
  }
}

}  // namespace

std::vector<std::string> diagnose(const StackReport& report) {
  std::vector<std::string> findings;
  add_cycles(report, findings);
  add_busy_threads(report, findings);
  if (findings.empty()) add_waiting_fibers(report, findings);
  add_held_up_threads(report, findings);
  return findings;
}

}  // namespace heapattach::stacks
