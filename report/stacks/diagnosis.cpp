// A finding is the first thing that people read, and a build is stopped for it: it needs a proof.
//
// - Locks in a circle: each of some fibers or threads waits for a lock that the next one holds, and
//   only the holder of a lock can release it.
// - Nobody is left: every fiber of the program waits for another one, without a time limit. One
//   could be woken by a fiber that runs, sleeps, waits for a descriptor or a process, or waits for
//   something unknown; by a signal handler, which runs in a fiber of its own; or by a sleep without
//   end, because its author means that others go on. If there is any of these, nothing is proved:
//   it may hold the channel, or get hold of it.
//
// An idle server, a pool of workers without work, actors without messages and a dispatcher without
// lines to write look like the second fault, except that a fiber is left that can wake the others.
// They are not reported. A remark names something that should happen and does not.

#include "report/stacks/diagnosis.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/stacks/caught_signals.h"
#include "report/stacks/ruby_threads.h"

namespace heapattach::stacks {

namespace {

constexpr std::size_t kMostCycles = 5;
constexpr std::size_t kShownOfCycle = 8;

// The cycles of a graph in which each node has at most one edge.
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

// "fiber \"transfer\" in Ledger#transfer (ledger.cr:15)".
template <class Seen>
std::string title_and_function(const Seen& one) {
  return one.function.empty() ? title_of(one)
                              : fmt::format("{} in {}", title_of(one), one.function);
}

std::string lock_of(const FiberSeen& fiber) {
  return describe_lock(fiber.wait);
}
std::string lock_of(const ThreadSeen& thread) {
  return thread.wait.mutex.empty() ? fmt::format("a {}", thread_wait(thread.wait.kind).words)
                                   : thread.wait.mutex;
}

template <class Seen>
std::string awaited(const Seen& one, const std::string& owner) {
  if constexpr (requires { one.wait.is_for_owner(); }) {
    if (!one.wait.is_for_owner()) return "the end of " + owner;
  }
  return fmt::format("{}, which {} holds", lock_of(one), owner);
}

template <class Seen>
std::string cycle_text(const std::vector<std::size_t>& cycle, const std::vector<Seen>& all) {
  std::string text = "deadlock: ";
  for (std::size_t i = 0; i < std::min(cycle.size(), kShownOfCycle); ++i) {
    const Seen& one = all[cycle[i]];
    const Seen& next = all[cycle[(i + 1) % cycle.size()]];
    text += fmt::format("{}{} waits for {}", i == 0 ? "" : "; ", title_and_function(one),
                        awaited(one, cycle.size() == 1 ? "it already" : title_of(next)));
  }
  if (cycle.size() > kShownOfCycle) {
    text += fmt::format("; and {} more in the circle", cycle.size() - kShownOfCycle);
  }
  return text;
}

void add_cycles(const StackReport& report, Diagnosis& diagnosis) {
  const auto of_thread = [&](std::size_t i) { return report.threads[i].wait.thread; };
  for (const auto& cycle : cycles_of(report.threads.size(), of_thread)) {
    for (const std::size_t thread : cycle) {
      diagnosis.finding_of_thread.try_emplace(thread, diagnosis.findings.size());
    }
    diagnosis.findings.push_back({StatementKind::Deadlock, cycle_text(cycle, report.threads)});
  }
  const auto of_fiber = [&](std::size_t i) { return report.fibers[i].wait.owner; };
  for (const auto& cycle : cycles_of(report.fibers.size(), of_fiber)) {
    for (const std::size_t fiber : cycle) {
      diagnosis.finding_of_fiber.try_emplace(fiber, diagnosis.findings.size());
    }
    diagnosis.findings.push_back({StatementKind::Deadlock, cycle_text(cycle, report.fibers)});
  }
}

// A wait with a limit ends by itself.
bool needs_another_fiber(const FiberWait& wait) {
  return !wait.left && !wait.may_have_limit && snapshot::wait_kind(wait.kind).needs_another_fiber;
}

// The channel that most fibers wait for in the same way.
struct Crowd {
  WaitKind kind = WaitKind::Unknown;
  RemoteAddr channel;
  std::size_t fibers = 0;
  std::size_t example = 0;
};

// The fibers of the program, by what could wake them.
struct Fibers {
  std::size_t all = 0;          // that run code of the program
  std::size_t need_others = 0;  // of these
  std::size_t others = 0;       // that may still act, including fibers of the library
  Crowd crowd;
  Crowd senders;  // the largest crowd that waits to send
};

Fibers count(const StackReport& report) {
  std::map<std::pair<WaitKind, RemoteAddr>, Crowd> crowds;
  Fibers fibers;
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    const FiberSeen& fiber = report.fibers[i];
    if (fiber.is_of_runtime || fiber.wait.kind == WaitKind::Ended) continue;
    const bool needs_another = needs_another_fiber(fiber.wait);
    if (!needs_another) ++fibers.others;
    if (!fiber.is_own) continue;
    ++fibers.all;
    if (!needs_another) continue;
    ++fibers.need_others;
    const bool is_channel =
        fiber.wait.kind == WaitKind::Receive || fiber.wait.kind == WaitKind::Send;
    if (!is_channel || fiber.wait.object.value == 0) continue;
    Crowd& crowd = crowds[{fiber.wait.kind, fiber.wait.object}];
    if (crowd.fibers == 0) crowd = {fiber.wait.kind, fiber.wait.object, 0, i};
    if (++crowd.fibers > fibers.crowd.fibers) fibers.crowd = crowd;
    const bool sends = crowd.kind == WaitKind::Send;
    if (sends && crowd.fibers > fibers.senders.fibers) fibers.senders = crowd;
  }
  return fibers;
}

// Whether the fiber runs code of the program, and only another fiber can wake it.
bool is_stuck(const FiberSeen& fiber) {
  return !fiber.is_of_runtime && fiber.is_own && needs_another_fiber(fiber.wait);
}

// Names some of the fibers that wait for others, and what they wait for. Similar fibers are merged.
std::string examples(const StackReport& report) {
  constexpr std::size_t kShown = 3;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    const FiberSeen& fiber = report.fibers[i];
    if (!is_stuck(fiber)) continue;
    alike[{fiber.function, describe_wait(report.fibers, fiber.wait)}].push_back(i);
  }
  std::string text;
  std::size_t shown = 0;
  for (const auto& [what, fibers] : alike) {
    if (++shown > kShown) return text + "; …";
    const std::string who = fibers.size() == 1
                                ? title_and_function(report.fibers[fibers[0]])
                                : fmt::format("{} fibers{}{}", fibers.size(),
                                              what.first.empty() ? "" : " in ", what.first);
    text += fmt::format("{}{} {}", shown == 1 ? "" : "; ", who,
                        fibers.size() == 1 ? what.second : in_plural(what.second));
  }
  return text;
}

std::string doing_of(const StackReport& report, const Crowd& crowd) {
  std::string text = describe_wait(report.fibers, report.fibers[crowd.example].wait);
  return crowd.fibers > 1 ? in_plural(std::move(text)) : text;
}

// Reports fibers that only another fiber could wake, if no fiber is left that could.
void add_forgotten_fibers(const StackReport& report, const Fibers& fibers, Diagnosis& diagnosis) {
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    if (!is_stuck(report.fibers[i])) continue;
    diagnosis.finding_of_fiber.try_emplace(i, diagnosis.findings.size());
  }
  const bool is_one = fibers.all == 1;
  if (fibers.crowd.fibers == fibers.all) {
    diagnosis.findings.push_back(
        {StatementKind::Deadlock,
         fmt::format("deadlock: {} {}, and nobody is left to {}",
                     is_one ? "the only fiber" : fmt::format("all {} fibers", fibers.all),
                     doing_of(report, fibers.crowd),
                     fibers.crowd.kind == WaitKind::Receive ? "send" : "receive")});
    return;
  }
  diagnosis.findings.push_back(
      {StatementKind::Deadlock,
       fmt::format("deadlock: {}, and nobody is left to wake {}: {}",
                   is_one ? "the only fiber waits"
                          : fmt::format("all {} fibers wait for others", fibers.all),
                   is_one ? "it" : "them", examples(report))});
}

// Many fibers wait to send to one channel. Many that wait to receive, or for each other, are not
// remarkable: idle services look like that.
void add_unheard_senders(const StackReport& report, const Fibers& fibers, Diagnosis& diagnosis) {
  const Crowd& crowd = fibers.senders;
  if (crowd.fibers <= 2) return;
  diagnosis.remarks.push_back(
      {StatementKind::Waiting, fmt::format("{} of {} fibers {}, and none waits to receive from it",
                                           crowd.fibers, fibers.all, doing_of(report, crowd))});
}

void add_fibers_of_channels(const StackReport& report, Diagnosis& diagnosis) {
  const Fibers fibers = count(report);
  if (fibers.need_others == 0) return;
  const bool nobody_is_left = fibers.others == 0;
  if (nobody_is_left && report.caught_signals && *report.caught_signals == 0) {
    add_forgotten_fibers(report, fibers, diagnosis);
    return;
  }
  if (nobody_is_left) {
    diagnosis.remarks.push_back(
        {StatementKind::Waiting,
         fmt::format("only {} can wake a fiber: {}",
                     report.caught_signals
                         ? fmt::format("the handler of {}", words_for(*report.caught_signals))
                         : "the handler of a signal, if there is one,",
                     examples(report))});
    return;
  }
  add_unheard_senders(report, fibers, diagnosis);
}

std::string innermost_function(const NamedStack& stack) {
  for (const NamedFrame& frame : stack.frames) {
    if (!frame.function.empty()) return frame.function;
  }
  return {};
}

void add_busy_threads(const StackReport& report, Diagnosis& diagnosis) {
  const auto suspended =
      std::count_if(report.fibers.begin(), report.fibers.end(),
                    [](const FiberSeen& fiber) { return !fiber.is_of_runtime && !fiber.thread; });
  for (std::size_t i = 0; i < report.threads.size(); ++i) {
    const ThreadSeen& thread = report.threads[i];
    // A thread of io_uring may look for requests all the time: that is what it was made for.
    if (!thread.is_busy || thread.is_idle || thread.is_of_kernel) continue;
    diagnosis.finding_of_thread.try_emplace(i, diagnosis.findings.size());
    if (thread.fiber) {
      diagnosis.finding_of_fiber.try_emplace(*thread.fiber, diagnosis.findings.size());
    }
    const std::string function =
        thread.ruby ? thread.function : innermost_function(named(report, thread.stack));
    std::string text = fmt::format(
        "busy: {} does not yield the CPU{}{}",
        thread.fiber
            ? fmt::format("{}, on {},", title_of(report.fibers.at(*thread.fiber)), title_of(thread))
            : title_of(thread),
        function.empty() ? "" : ", in ", function);
    if (thread.fiber && suspended > 0) {
      text += fmt::format("; {} fiber{} cannot run there meanwhile", suspended,
                          suspended == 1 ? "" : "s");
    }
    diagnosis.findings.push_back({StatementKind::Busy, std::move(text)});
  }
}

// Remarks on threads that wait for a thread that itself does not wait for a lock.
void add_held_up_threads(const StackReport& report, Diagnosis& diagnosis) {
  // By the owner of the lock, and its fiber that holds it, if it is a suspended one of Ruby's.
  std::map<std::pair<std::size_t, std::string>, std::size_t> waiting_for;
  for (const ThreadSeen& thread : report.threads) {
    if (!thread.wait.is_for_owner()) continue;
    ++waiting_for[{*thread.wait.thread, thread.ruby ? thread.ruby->mutex_fiber : std::string()}];
  }
  for (const auto& [holder, count] : waiting_for) {
    const auto& [owner, fiber] = holder;
    const ThreadSeen& thread = report.threads[owner];
    if (thread.wait.is_for_owner()) continue;
    const std::string end = thread.wait.thread ? ", which waits for the end of " +
                                                     title_of(report.threads[*thread.wait.thread])
                                               : std::string();
    diagnosis.remarks.push_back(
        {StatementKind::Waiting,
         fmt::format("{} for a lock that {}{} holds{}",
                     count == 1 ? "1 thread waits" : fmt::format("{} threads wait", count),
                     fiber.empty() ? std::string() : fiber + " of ", title_and_function(thread),
                     !end.empty()                 ? end
                     : thread.wait.is_for_event() ? ", which waits for " + thread.wait.mutex
                     : thread.wait.call.empty()   ? std::string()
                                                  : ", which is in " + thread.wait.call)});
  }
}

// Remarks on objects that several threads wait for, each of which another thread may wake. Names
// the first of these threads.
void add_awaited_events(const StackReport& report, Diagnosis& diagnosis) {
  std::map<std::string_view, std::vector<const ThreadSeen*>> waiting;
  for (const ThreadSeen& thread : report.threads) {
    const bool is_counted = !thread_wait(thread.wait.kind).function.empty();
    if (is_counted) waiting[thread.wait.mutex].push_back(&thread);
  }
  for (const auto& [event, threads] : waiting) {
    const std::string who = title_and_function(*threads.front());
    const std::string_view function = thread_wait(threads.front()->wait.kind).function;
    diagnosis.remarks.push_back(
        {StatementKind::Waiting, threads.size() == 1
                                     ? fmt::format("{} waits for {} ({})", who, event, function)
                                     : fmt::format("{} threads wait for {} ({}), such as {}",
                                                   threads.size(), event, function, who)});
  }
}

// Remarks on a thread that sleeps and keeps Ruby's lock, as C code may: no other thread can run
// Ruby code meanwhile. One that merely is in a call at the moment may have run just before.
void add_ruby_lock(const StackReport& report, Diagnosis& diagnosis) {
  constexpr double kHardlyRuns = 0.01;
  const auto is = [](const ThreadSeen& thread, WaitKind kind) {
    return thread.ruby && wait_of(thread).kind == kind;
  };
  if (report.saved) return;
  std::map<std::uint64_t, std::size_t> waiting_in;  // each ractor has a lock of its own
  for (const ThreadSeen& thread : report.threads) {
    if (is(thread, WaitKind::Ready)) ++waiting_in[thread.ruby->ractor];
  }
  for (const ThreadSeen& thread : report.threads) {
    const bool sleeps = !thread.wait.call.empty() && thread.state != 'R' && !thread.is_busy &&
                        thread.load.value_or(0) < kHardlyRuns;
    if (!sleeps || !is(thread, WaitKind::Running)) continue;
    const auto found = waiting_in.find(thread.ruby->ractor);
    if (found == waiting_in.end()) continue;
    const std::size_t waiting = found->second;
    diagnosis.remarks.push_back(
        {StatementKind::Waiting,
         fmt::format("{} for Ruby's lock, which {} keeps, in {}",
                     waiting == 1 ? "1 thread waits" : fmt::format("{} threads wait", waiting),
                     title_and_function(thread), thread.wait.call)});
  }
}

// Remarks on mutexes whose owner has ended. Another thread may unlock one only by a mistake
// (undefined by POSIX), so this is not a proof.
void add_orphaned_mutexes(const StackReport& report, Diagnosis& diagnosis) {
  for (const ThreadSeen& thread : report.threads) {
    if (thread.gone_owner == 0) continue;
    diagnosis.remarks.push_back(
        {StatementKind::LostLock,
         fmt::format("{} waits for {}, which thread {} locked; this process has no such thread",
                     title_and_function(thread), lost_lock(thread), thread.gone_owner)});
  }
}

// Remarks on fibers that wait for a fiber's mutex, without a circle.
void add_held_up_fibers(const StackReport& report, Diagnosis& diagnosis) {
  std::map<std::pair<std::size_t, RemoteAddr>, std::vector<std::size_t>> waiting_for;
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    const FiberWait& wait = report.fibers[i].wait;
    if (wait.owner && *wait.owner < report.fibers.size()) {
      waiting_for[{*wait.owner, wait.object}].push_back(i);
    }
  }
  for (const auto& [lock, waiting] : waiting_for) {
    const FiberSeen& owner = report.fibers[lock.first];
    if (owner.wait.owner) continue;
    const std::string who = waiting.size() == 1
                                ? title_and_function(report.fibers[waiting[0]]) + " waits"
                                : fmt::format("{} fibers wait", waiting.size());
    diagnosis.remarks.push_back(
        {StatementKind::Waiting,
         fmt::format("{} for {}, which {} holds, which {}", who, lock_of(report.fibers[waiting[0]]),
                     title_and_function(owner), describe_wait(report.fibers, owner.wait))});
  }
}

}  // namespace

std::string lost_lock(const ThreadSeen& thread) {
  const std::string_view words = thread_wait(thread.wait.kind).words;
  return thread.wait.mutex.empty() ? fmt::format("a {}", words)
                                   : fmt::format("the {} {}", words, thread.wait.mutex);
}

Diagnosis diagnose(const StackReport& report) {
  Diagnosis diagnosis;
  add_cycles(report, diagnosis);
  add_busy_threads(report, diagnosis);
  add_held_up_fibers(report, diagnosis);
  if (diagnosis.findings.empty()) add_fibers_of_channels(report, diagnosis);
  add_held_up_threads(report, diagnosis);
  if (diagnosis.findings.empty()) add_awaited_events(report, diagnosis);
  add_ruby_lock(report, diagnosis);
  add_orphaned_mutexes(report, diagnosis);
  return diagnosis;
}

}  // namespace heapattach::stacks
