#include "report/stacks/saved_stacks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "report/stacks/crystal_library.h"
#include "report/stacks/named_stacks.h"
#include "report/stacks/ruby_threads.h"

namespace heapattach::stacks {

namespace {

using snapshot::CodeLine;
using snapshot::Snapshot;

// The number and name of a thread, as in `of_thread`.
std::string number_and_name(const ThreadSeen& thread) {
  return title_of(thread).substr(std::string_view("thread ").size());
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

CrystalLibrary library_of(const Snapshot& snapshot) {
  if (snapshot.header.runtime != "crystal") return {};
  std::vector<std::string_view> files;
  for (const snapshot::Place& place : snapshot.places) {
    files.push_back(place.at.file);
    for (const CodeLine& line : place.inlined) files.push_back(line.file);
  }
  return CrystalLibrary::of_files(files);
}

class Saved {
 public:
  explicit Saved(const Snapshot& snapshot) : snapshot_(snapshot), own_code_(snapshot) {}

  StackReport report() && {
    const snapshot::Header& header = snapshot_.header;
    report_.pid = header.pid;
    report_.exe = header.exe;
    report_.resource = header.resource;
    report_.saved = SavedFacts{header.captured};
    if (header.pause_ms) {
      report_.pause = std::chrono::nanoseconds(static_cast<std::int64_t>(*header.pause_ms * 1e6));
    }
    report_.findings = statements_of(header.findings);
    report_.remarks = statements_of(header.remarks);
    report_.stacks = snapshot_.stacks;
    for (const snapshot::Place& place : snapshot_.places) add(place);
    for (const snapshot::Thread& thread : snapshot_.threads) add(thread);
    if (header.runtime == "ruby") {
      for (const snapshot::Fiber& fiber : snapshot_.fibers) add_to_ruby_thread(fiber);
    } else {
      for (const snapshot::Fiber& fiber : snapshot_.fibers) add(fiber);
      group_fibers();
    }
    warn();
    return std::move(report_);
  }

 private:
  void add(const snapshot::Thread& thread) {
    ThreadSeen& seen = report_.threads.emplace_back();
    static_cast<snapshot::Thread&>(seen) = thread;
    seen.tid_in_target = thread.tid;
  }

  void add(const snapshot::Fiber& fiber) {
    report_.fibers.push_back({fiber, !fiber.function.empty()});
  }

  // Adds a fiber that save_stacks() made from a Ruby thread's fibers.
  void add_to_ruby_thread(const snapshot::Fiber& fiber) {
    for (std::size_t i = 0; i < report_.threads.size(); ++i) {
      ThreadSeen& seen = report_.threads[i];
      const std::string number = std::to_string(seen.tid);  // the name may be a placeholder
      const bool is_suspended = !fiber.thread && fiber.of_thread.starts_with(number) &&
                                (fiber.of_thread + ' ')[number.size()] == ' ';
      if (fiber.thread != i && !is_suspended) continue;
      seen.fiber.reset();
      if (!seen.ruby) seen.ruby.emplace().is_main = seen.tid == report_.pid;
      RubySeen& ruby = *seen.ruby;
      if (ruby.fibers.empty() && !is_suspended) {
        ruby.name = fiber.name;
        const bool is_known = fiber.wait.kind != WaitKind::Unknown;
        if (is_known) ruby.doing = describe_wait(report_.fibers, fiber.wait);
      }
      (is_suspended ? ruby.suspended : ruby.fibers).push_back(ruby_stack(fiber));
      return;
    }
  }

  [[nodiscard]] ruby::FiberStack ruby_stack(const snapshot::Fiber& fiber) const {
    ruby::FiberStack result;
    result.fiber = fiber.address;
    if (!fiber.stack) return result;
    const snapshot::Stack& stack = snapshot_.stacks[*fiber.stack];
    result.left_out = stack.left_out;
    result.left_out_after = stack.left_out_behind;
    result.is_whole = stack.end == unwind::StackEnd::Outermost;
    for (const snapshot::Frame& frame : stack.frames) {
      const CodeLine& at = snapshot_.places[frame.place].at;
      ruby::Frame& added = result.frames.emplace_back();
      added.function = at.function;
      added.file = at.file;
      added.line = at.line;
    }
    return result;
  }

  void group_fibers() {
    std::map<std::uint32_t, std::size_t> by_stack;
    for (std::size_t i = 0; i < snapshot_.fibers.size(); ++i) {
      if (report_.fibers[i].thread) continue;
      const auto& stack = snapshot_.fibers[i].stack;
      const std::uint32_t key = stack ? *stack : static_cast<std::uint32_t>(-1);
      const auto [at, is_new] = by_stack.try_emplace(key, report_.groups.size());
      if (is_new) report_.groups.push_back({{}, stack});
      report_.groups[at->second].fibers.push_back(i);
    }
    sort_groups(report_.fibers, report_.groups);
  }

  // A snapshot from before waits were in it has frames alone, and one of a read process none.
  void warn() {
    const bool has_waits =
        std::any_of(report_.fibers.begin(), report_.fibers.end(),
                    [](const auto& fiber) { return fiber.wait.kind != WaitKind::Unknown; }) ||
        std::any_of(report_.threads.begin(), report_.threads.end(), [](const auto& thread) {
          return !thread.wait.call.empty() || (thread.ruby && !thread.ruby->doing.empty());
        });
    const bool all_run = report_.fibers.empty() &&
                         std::all_of(report_.threads.begin(), report_.threads.end(),
                                     [](const auto& thread) { return thread.state == 'R'; });
    if (report_.threads.empty()) {
      report_.warnings.emplace_back("the snapshot has no threads");
      report_.is_partial = true;
    } else if (!has_waits && !all_run) {
      report_.warnings.emplace_back(
          "the snapshot does not record what threads and fibers wait for; findings are unknown");
      report_.is_partial = true;
    }
  }

  void add(const snapshot::Place& place) {
    PlaceSeen& seen = report_.places.emplace_back();
    static_cast<snapshot::Place&>(seen) = place;
    const CodeLine& innermost = place.inlined.empty() ? place.at : place.inlined.front();
    seen.may_be_own = innermost.function.empty() && own_code_.is_in_program(place);
    for (const CodeLine& line : place.inlined) seen.is_own.push_back(own_code_.is_own(place, line));
    seen.is_own.push_back(own_code_.is_own(place, place.at));
  }

  const Snapshot& snapshot_;
  OwnCode own_code_;
  StackReport report_;
};

// The way back: a report into a snapshot.
class Saving {
 public:
  Saving(const StackReport& report, Snapshot& snapshot)
      : report_(report),
        snapshot_(snapshot),
        first_stack_(static_cast<std::uint32_t>(snapshot.stacks.size())) {
    const auto first_place = static_cast<std::uint32_t>(snapshot.places.size());
    snapshot.places.insert(snapshot.places.end(), report.places.begin(), report.places.end());
    for (snapshot::Stack stack : report.stacks) {
      for (snapshot::Frame& frame : stack.frames) frame.place += first_place;
      snapshot.stacks.push_back(std::move(stack));
    }
  }

  void add(const ThreadSeen& seen) {
    const std::size_t number = snapshot_.threads.size();
    snapshot_.threads.push_back(seen);
    snapshot::Thread& thread = snapshot_.threads.back();
    thread.fiber.reset();  // the report's fibers are not saved
    const bool has_frames = thread.stack && !report_.stacks.at(*thread.stack).frames.empty();
    thread.stack = has_frames ? std::optional(*thread.stack + first_stack_) : std::nullopt;
    if (!seen.ruby) return;
    if (!seen.ruby->fibers.empty()) thread.fiber = snapshot_.fibers.size();
    bool is_first = true;
    for (const ruby::FiberStack& stack : seen.ruby->fibers) {
      snapshot::Fiber& fiber = add(stack);
      fiber.thread = number;
      if (!std::exchange(is_first, false)) continue;
      fiber.name = seen.ruby->name;
      fiber.function = seen.function;
      fiber.wait = wait_of(seen);
    }
    for (const ruby::FiberStack& stack : seen.ruby->suspended) {
      add(stack).of_thread = number_and_name(seen);
    }
  }

 private:
  snapshot::Fiber& add(const ruby::FiberStack& of_fiber) {
    snapshot::Stack stack;
    stack.left_out = of_fiber.left_out;
    stack.left_out_behind = static_cast<std::uint32_t>(of_fiber.left_out_after);
    stack.end = of_fiber.is_whole ? unwind::StackEnd::Outermost : unwind::StackEnd::Corrupt;
    for (const ruby::Frame& frame : of_fiber.frames) {
      snapshot::Place place;
      place.at = {frame.function, frame.file, frame.line, 0};
      stack.frames.push_back({add(std::move(place)), unwind::FoundBy::Registers});
    }
    snapshot::Fiber& fiber = snapshot_.fibers.emplace_back();
    fiber.address = of_fiber.fiber;
    fiber.stack = keep(std::move(stack));
    return fiber;
  }

  std::uint32_t add(snapshot::Place&& place) {
    snapshot_.places.push_back(std::move(place));
    return static_cast<std::uint32_t>(snapshot_.places.size() - 1);
  }
  std::uint32_t keep(snapshot::Stack&& stack) {
    snapshot_.stacks.push_back(std::move(stack));
    return static_cast<std::uint32_t>(snapshot_.stacks.size() - 1);
  }

  const StackReport& report_;
  Snapshot& snapshot_;
  std::uint32_t first_stack_;  // of the report's, in the snapshot
};

}  // namespace

void save_stacks(const StackReport& report, Snapshot& snapshot) {
  snapshot.threads.clear();
  snapshot.header.findings = texts_of(report.findings);
  snapshot.header.remarks = texts_of(report.remarks);
  Saving saving(report, snapshot);
  for (const ThreadSeen& thread : report.threads) saving.add(thread);
}

OwnCode::OwnCode(const Snapshot& snapshot) : snapshot_(snapshot), library_(library_of(snapshot)) {}

bool OwnCode::is_in_program(const snapshot::Place& place) const {
  return file_name(place.module) == file_name(snapshot_.header.exe);
}

bool OwnCode::is_own(const snapshot::Place& place, const CodeLine& line) const {
  return is_in_program(place) && is_own_code(line.function, line.file, library_);
}

StackReport saved_stacks(const Snapshot& snapshot) {
  return Saved(snapshot).report();
}

}  // namespace heapattach::stacks
