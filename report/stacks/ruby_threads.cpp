#include "report/stacks/ruby_threads.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace heapattach::stacks {

namespace {

// Methods of Ruby's own that wait, by class and name, and the words for that. "{}" is the object.
struct Waiting {
  std::string_view owner;  // empty: any
  std::string_view function;
  std::string_view words;
  WaitKind kind;
};
constexpr std::array<Waiting, 20> kWaiting{{
    {"Thread::ConditionVariable", "wait", "waits for {}", WaitKind::Condition},
    {"Thread::Queue", "pop", "waits for an item of {}", WaitKind::Receive},
    {"Thread::Queue", "shift", "waits for an item of {}", WaitKind::Receive},
    {"Thread::Queue", "deq", "waits for an item of {}", WaitKind::Receive},
    {"Thread::SizedQueue", "pop", "waits for an item of {}", WaitKind::Receive},
    {"Thread::SizedQueue", "shift", "waits for an item of {}", WaitKind::Receive},
    {"Thread::SizedQueue", "deq", "waits for an item of {}", WaitKind::Receive},
    {"Thread::SizedQueue", "push", "waits for room in {}", WaitKind::Send},
    {"Thread::SizedQueue", "enq", "waits for room in {}", WaitKind::Send},
    {"Thread::SizedQueue", "<<", "waits for room in {}", WaitKind::Send},
    {"Thread::Mutex", "sleep", "sleeps, without {}", WaitKind::Sleep},
    {"Kernel", "sleep", "sleeps", WaitKind::Sleep},
    {"Process", "wait", "waits for the end of a process", WaitKind::Process},
    {"Process", "waitpid", "waits for the end of a process", WaitKind::Process},
    {"Process", "wait2", "waits for the end of a process", WaitKind::Process},
    {"Process", "waitpid2", "waits for the end of a process", WaitKind::Process},
    {"Process", "waitall", "waits for the end of all child processes", WaitKind::Process},
    {"Process::Status", "wait", "waits for the end of a process", WaitKind::Process},
    {"Kernel", "system", "waits for the end of a process", WaitKind::Process},
    {"Thread", "stop", "sleeps until another thread wakes it", WaitKind::SleepForever},
}};
constexpr std::string_view kHasLock = "has Ruby's lock";
constexpr std::string_view kWantsLock = "waits for Ruby's lock";
constexpr std::string_view kDescriptor = "waits for descriptor ";

const Waiting* waiting_of(const ruby::Frame& frame) {
  const auto* const found = std::find_if(kWaiting.begin(), kWaiting.end(), [&](const Waiting& one) {
    return one.owner == frame.owner && one.function == frame.function;
  });
  return found == kWaiting.end() ? nullptr : found;
}

std::string_view short_name(std::string_view owner) {
  if (owner.starts_with("Thread::")) owner.remove_prefix(8);
  return owner;
}

bool is_join(const ruby::Frame& frame) {
  return frame.owner == "Thread" && (frame.function == "join" || frame.function == "value");
}

// The methods of Ruby's own in which a thread is, innermost first.
std::vector<const ruby::Frame*> own_methods(const std::vector<ruby::FiberStack>& fibers) {
  std::vector<const ruby::Frame*> frames;
  if (fibers.empty()) return frames;
  for (const ruby::Frame& frame : fibers.front().frames) {
    if (!frame.is_native && !frame.is_internal()) break;
    frames.push_back(&frame);
  }
  return frames;
}

class Adding {
 public:
  Adding(const std::vector<ruby::Thread>& threads, Descriptors& descriptors, StackReport& report)
      : threads_(threads), descriptors_(descriptors), report_(report) {}

  void add() {
    std::map<pid_t, std::size_t> by_tid;
    std::map<pid_t, std::size_t> by_native;
    for (std::size_t i = 0; i < report_.threads.size(); ++i) {
      by_tid.emplace(report_.threads[i].tid_in_target, i);
      by_native.emplace(report_.threads[i].tid, i);
    }
    std::size_t unmatched = 0;
    for (const ruby::Thread& thread : threads_) {
      const auto& known = thread.native ? by_native : by_tid;
      const auto found = known.find(thread.native.value_or(thread.tid));
      const bool is_new = found != known.end() && !report_.threads[found->second].ruby;
      seen_.push_back(is_new ? std::optional(found->second) : std::nullopt);
      if (is_new) {
        report_.threads[found->second].ruby.emplace();
      } else {
        ++unmatched;
      }
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (seen_[i]) fill(threads_[i], report_.threads[*seen_[i]]);
    }
    if (unmatched > 0) {
      report_.warnings.push_back(
          fmt::format("{} of {} Ruby threads match no thread of the process, and are not shown",
                      unmatched, threads_.size()));
    }
  }

 private:
  void fill(const ruby::Thread& thread, ThreadSeen& seen) {
    RubySeen& ruby = *seen.ruby;
    ruby.ractor = thread.ractor;
    ruby.name = thread.name;
    ruby.is_main = thread.is_main;
    ruby.fibers = thread.fibers;
    ruby.suspended = thread.suspended;
    ruby.mutex_fiber = mutex_fiber_text(thread);
    ruby.doing = doing_of(thread);
    if (thread.wants_lock) {
      // Its own wait is over: it only needs Ruby's lock to continue.
    } else if (thread.mutex != 0 && thread.mutex_owner && seen_[*thread.mutex_owner]) {
      seen.wait.thread = seen_[*thread.mutex_owner];
      seen.wait.mutex = fmt::format("Mutex {:#x}", thread.mutex);
    } else if (const auto joined = joined_by(thread); joined && seen.needs_another_thread) {
      seen.wait.thread = joined;
      seen.wait.kind = snapshot::ThreadWaitKind::End;
    }
    if (const ruby::Frame* own = own_frame(thread.fibers)) {
      seen.function = function_at(own->function, own->file, own->line);
    }
  }

  // The report's thread whose end a thread waits for.
  [[nodiscard]] std::optional<std::size_t> joined_by(const ruby::Thread& thread) const {
    if (thread.has_lock || thread.mutex != 0 || thread.descriptor) return std::nullopt;
    std::optional<std::size_t> joined;
    for (const ruby::Frame* frame : own_methods(thread.fibers)) {
      if (is_join(*frame)) {
        joined = seen_of(frame->self);
      } else if (waiting_of(*frame) != nullptr) {
        joined.reset();
      }
    }
    return joined;
  }

  // The report's thread that is this object of Ruby's.
  [[nodiscard]] std::optional<std::size_t> seen_of(std::uint64_t object) const {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].object == object) return seen_[i];
    }
    return std::nullopt;
  }

  // The innermost one of the program; of a library if there is none.
  static const ruby::Frame* own_frame(std::span<const ruby::FiberStack> fibers) {
    const ruby::Frame* any = nullptr;
    for (const ruby::FiberStack& stack : fibers) {
      for (const ruby::Frame& frame : stack.frames) {
        if (frame.is_native || frame.file.empty() || frame.is_internal()) continue;
        if (any == nullptr) any = &frame;
        const bool is_of_library = frame.file.find("/gems/") != std::string::npos ||
                                   frame.file.find("/lib/ruby/") != std::string::npos;
        if (!is_of_library) return &frame;
      }
    }
    return any;
  }

  [[nodiscard]] std::string doing_of(const ruby::Thread& thread) {
    if (thread.wants_lock) return lock_text(thread.ractor);
    if (thread.mutex != 0) return mutex_text(thread);
    if (thread.descriptor) return descriptor_text(*thread.descriptor);
    const auto frames = own_methods(thread.fibers);
    // The purpose of one of the innermost functions. A wait for a condition sleeps in a mutex.
    std::string waiting;
    for (const ruby::Frame* frame : frames) {
      if (std::string text = waiting_text(*frame); !text.empty()) waiting = std::move(text);
    }
    if (!thread.has_lock && !waiting.empty()) return waiting;
    if (thread.has_lock) return std::string(kHasLock);
    if (!thread.is_blocking) return lock_text(thread.ractor);
    if (frames.empty()) return "is outside of Ruby's lock";
    const ruby::Frame& innermost = *frames.front();
    return fmt::format("is in {}{}{}, outside of Ruby's lock", innermost.owner,
                       innermost.owner.empty() ? "" : "#", innermost.function);
  }

  [[nodiscard]] std::string waiting_text(const ruby::Frame& frame) const {
    if (is_join(frame)) {
      const auto joined = seen_of(frame.self);
      return "waits for the end of " + (joined ? title_of(report_.threads[*joined]) : "a thread");
    }
    const Waiting* const one = waiting_of(frame);
    return one == nullptr ? std::string()
                          : fmt::format(fmt::runtime(one->words), object_text(frame));
  }

  static std::string object_text(const ruby::Frame& frame) {
    return fmt::format("{} {:#x}", short_name(frame.owner), frame.self);
  }

  [[nodiscard]] std::string mutex_text(const ruby::Thread& thread) const {
    std::string text = fmt::format("waits for Mutex {:#x}", thread.mutex);
    if (thread.mutex_owner && seen_[*thread.mutex_owner]) {
      const std::string fiber = mutex_fiber_text(thread);
      const std::string title = title_of(report_.threads[*seen_[*thread.mutex_owner]]);
      text += fiber.empty() ? fmt::format(", which {} holds", title)
                            : fmt::format(", which {} of {} holds", fiber, title);
    }
    return text;
  }

  // Names a suspended fiber that holds the Mutex. Only the fiber's own thread can resume it, so
  // what the thread itself does now would not explain the wait.
  [[nodiscard]] std::string mutex_fiber_text(const ruby::Thread& thread) const {
    if (thread.mutex == 0 || !thread.mutex_owner || thread.mutex_fiber == 0) return {};
    for (const ruby::FiberStack& stack : threads_[*thread.mutex_owner].suspended) {
      if (stack.fiber != thread.mutex_fiber) continue;
      const ruby::Frame* const own = own_frame(std::span(&stack, 1));
      return fmt::format("fiber {:#x}{}", stack.fiber,
                         own == nullptr
                             ? " (suspended)"
                             : fmt::format(" (suspended in {})",
                                           function_at(own->function, own->file, own->line)));
    }
    return {};
  }

  [[nodiscard]] std::string descriptor_text(int descriptor) {
    const std::string what = descriptors_.what_is(static_cast<std::uint64_t>(descriptor));
    return fmt::format("{}{}{}{}", kDescriptor, descriptor, what.empty() ? "" : ": ", what);
  }

  // Each ractor has a lock of its own.
  [[nodiscard]] std::string lock_text(std::uint64_t ractor) const {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].ractor != ractor || !threads_[i].has_lock || !seen_[i]) continue;
      const ThreadSeen& holder = report_.threads[*seen_[i]];
      const std::string text = fmt::format("{}, which {} has", kWantsLock, title_of(holder));
      return holder.wait.call.empty() ? text : fmt::format("{}, in {}", text, holder.wait.call);
    }
    return std::string(kWantsLock);
  }

  const std::vector<ruby::Thread>& threads_;
  Descriptors& descriptors_;
  StackReport& report_;
  std::vector<std::optional<std::size_t>> seen_;  // the report's thread of each
};

}  // namespace

void add_ruby_threads(const std::vector<ruby::Thread>& threads,
                      Descriptors& descriptors,
                      StackReport& report) {
  Adding(threads, descriptors, report).add();
}

FiberWait wait_of(const ThreadSeen& thread) {
  FiberWait wait;
  if (!thread.ruby) return wait;
  const std::string_view doing = thread.ruby->doing;
  if (!thread.wait.mutex.empty()) {
    wait.kind = WaitKind::Mutex;
    wait.type = thread.wait.mutex;
  } else if (doing.starts_with(kDescriptor)) {
    wait.kind = WaitKind::Io;
    wait.descriptor = doing.substr(kDescriptor.size());
  } else if (doing.starts_with(kHasLock)) {
    wait.kind = WaitKind::Running;
  } else if (doing.starts_with(kWantsLock)) {
    wait.kind = WaitKind::Ready;
  } else {
    for (const ruby::Frame* frame : own_methods(thread.ruby->fibers)) {
      const Waiting* const one = waiting_of(*frame);
      if (is_join(*frame)) wait.kind = WaitKind::Thread;
      if (one == nullptr) continue;
      wait.kind = one->kind;
      wait.type = short_name(frame->owner);
      wait.object = RemoteAddr{frame->self};
    }
  }
  return wait;
}

}  // namespace heapattach::stacks
