#include "report/format/write/stack_words.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/format/write/thread_words.h"

namespace heapattach {

namespace {

using stacks::FiberGroup;
using stacks::FiberSeen;
using stacks::StackReport;
using stacks::ThreadSeen;

constexpr std::size_t kShownNames = 3;
constexpr std::size_t kMostDifferent = 3;  // waits of a group, each with a line

// Waits with the same words, which may have different times left.
struct SameWords {
  snapshot::WaitKind kind{};
  std::size_t fibers = 0;
  std::chrono::milliseconds least{};
  std::chrono::milliseconds most{};

  void add(std::chrono::milliseconds left) {
    least = fibers == 0 ? left : std::min(least, left);
    most = fibers == 0 ? left : std::max(most, left);
    ++fibers;
  }
};

std::string times_left(const SameWords& waits) {
  const auto in_seconds = [](std::chrono::milliseconds time) {
    return fmt::format("{:.1f}", static_cast<double>(time.count()) / 1000);
  };
  const std::string least = in_seconds(waits.least);
  const std::string most = in_seconds(waits.most);
  return least == most ? fmt::format(", {} s left", least)
                       : fmt::format(", {} to {} s left", least, most);
}

// What the fibers of one kind of wait have different ones of; empty: nothing.
std::string_view things_of(snapshot::WaitKind kind) {
  switch (wait_kind(kind).waits_for) {
    case snapshot::WaitsFor::Object: return "objects";
    case snapshot::WaitsFor::Descriptor: return "descriptors";
    case snapshot::WaitsFor::Process: return "processes";
    case snapshot::WaitsFor::Nothing: break;
  }
  return {};
}

// "waits to read from 30 different descriptors, such as 10: TCP …". `example` are the words for one
// of the waits.
std::string words_for_different(snapshot::WaitKind kind,
                                std::size_t different,
                                std::string_view example) {
  const std::string_view words = wait_kind(kind).words;
  if (example.starts_with(words)) example.remove_prefix(words.size());
  return fmt::format("{}{} different {}, such as {}", words, different, things_of(kind), example);
}

}  // namespace

std::string_view words_for_end(unwind::StackEnd end) {
  switch (end) {
    case unwind::StackEnd::Limit: return "… and more frames, not followed";
    case unwind::StackEnd::Unknown: return "… the rest is unknown";
    case unwind::StackEnd::Generated:
      return "… cannot unwind further: code generated at run time (JIT)";
    case unwind::StackEnd::OtherStack:
      return "… cannot unwind further: this function switched to another stack";
    case unwind::StackEnd::Corrupt: return "… cannot unwind further (generated code?)";
    case unwind::StackEnd::Outermost: break;
  }
  return {};
}

std::string words_for_source(const StackReport& report) {
  if (report.saved) {
    return fmt::format(
        "from a snapshot of {} (which has no wait channels and processor times, and does not say "
        "which threads are busy)",
        report.saved->captured.empty() ? "an unknown time" : report.saved->captured);
  }
  if (!report.core) {
    const double pause = std::chrono::duration<double, std::milli>(report.pause).count();
    return fmt::format("paused for {:.1f} ms", pause);
  }
  std::string words = "from a core file";
  if (report.core->signal != 0) {
    const char* const name = ::sigabbrev_np(report.core->signal);
    words += fmt::format(" of signal {}{}{} in thread {}", report.core->signal,
                         name == nullptr ? "" : " SIG", name == nullptr ? "" : name,
                         report.core->thread);
  }
  return words + " (which has no states, wait channels, descriptors, processor time or time left)";
}

std::string words_for_wait(const StackReport& report, const ThreadSeen& thread) {
  std::string words;
  if (!report.core) words = words_for_state(thread.state);
  if (!thread.wait.call.empty()) {
    words += fmt::format("{}in {}", words.empty() ? "" : " ", thread.wait.call);
  }
  if (!thread.wait_channel.empty()) {
    words += fmt::format("{}[{}]", words.empty() ? "" : " ", thread.wait_channel);
  }
  return words;
}

ThreadNotes notes_on(const StackReport& report, const ThreadSeen& thread) {
  ThreadNotes notes;
  if (thread.tid_in_target != 0 && thread.tid_in_target != thread.tid) {
    notes.about_itself.push_back(
        fmt::format("thread {} in its own pid namespace", thread.tid_in_target));
  }
  const snapshot::ThreadWaitRow& row = thread_wait(thread.wait.kind);
  const std::string owner =
      thread.wait.thread ? title_of(report.threads.at(*thread.wait.thread)) : "no known thread";
  if (thread.wait.is_for_event()) {
    notes.others.push_back("waits for " + thread.wait.mutex);
  } else if (!row.of.empty()) {
    notes.others.push_back(fmt::format("waits for {}, which {} holds", thread.wait.mutex, owner));
  } else if (!thread.ruby && thread.wait.thread) {
    notes.others.push_back(fmt::format("waits for a {} of {}", row.words, owner));
  }
  if (thread.gone_owner != 0) {
    notes.others.push_back(fmt::format("waits for a {} of thread {}, which no longer exists",
                                       row.words, thread.gone_owner));
  }
  if (thread.fiber) {
    const FiberSeen& fiber = report.fibers.at(*thread.fiber);
    notes.others.push_back(fmt::format("on it: {}, which {}", title_of(fiber),
                                       describe_wait(report.fibers, fiber.wait)));
  }
  if (!thread.is_readable) {
    notes.others.emplace_back("could not be stopped: its stack is unknown");
  }
  if (thread.is_of_kernel) {
    notes.others.emplace_back("a kernel thread (io_uring), which runs no code of the program");
  }
  return notes;
}

std::string title_of(const stacks::RubySeen& ruby) {
  const std::string name = ruby.name.empty() ? "" : fmt::format(" \"{}\"", ruby.name);
  return fmt::format("{}Ruby thread{}{}{}", ruby.is_main ? "main " : "", name,
                     ruby.doing.empty() ? "" : " ", ruby.doing);
}

std::string names_of(const StackReport& report, const FiberGroup& group) {
  std::string names;
  std::size_t shown = 0;
  for (const std::size_t index : group.fibers) {
    if (shown == kShownNames && group.fibers.size() > kShownNames + 1) break;
    names += (names.empty() ? "" : ", ") + name_of(report.fibers[index]);
    ++shown;
  }
  if (group.fibers.size() > shown) names += ", …";
  return names;
}

std::vector<AlikeWaits> waits_of(const StackReport& report, const FiberGroup& group) {
  std::map<std::pair<std::string, bool>, SameWords> waits;  // by the words and whether they end
  for (const std::size_t index : group.fibers) {
    snapshot::FiberWait wait = report.fibers[index].wait;
    const auto left = std::exchange(wait.left, std::nullopt);
    SameWords& same = waits[{describe_wait(report.fibers, wait), left.has_value()}];
    same.kind = wait.kind;
    same.add(left.value_or(std::chrono::milliseconds(0)));
  }
  std::map<snapshot::WaitKind, std::size_t> of_kind;
  for (const auto& [wait, same] : waits) ++of_kind[same.kind];
  std::map<snapshot::WaitKind, std::size_t> merged;  // the place of the line of each kind
  std::vector<AlikeWaits> found;
  for (const auto& [wait, same] : waits) {
    const std::size_t different = of_kind[same.kind];
    const auto things = things_of(same.kind);
    if (waits.size() <= kMostDifferent || different == 1 || things.empty()) {
      found.push_back({same.fibers, wait.first + (wait.second ? times_left(same) : "")});
      continue;
    }
    const auto [at, is_new] = merged.try_emplace(same.kind, found.size());
    if (is_new) found.push_back({0, words_for_different(same.kind, different, wait.first)});
    found[at->second].fibers += same.fibers;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const AlikeWaits& a, const AlikeWaits& b) { return a.fibers > b.fibers; });
  return found;
}

}  // namespace heapattach
