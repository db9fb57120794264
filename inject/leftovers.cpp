#include "inject/leftovers.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attach/base/fd.h"
#include "attach/base/guardian.h"
#include "attach/base/interrupt.h"
#include "attach/base/word.h"
#include "attach/process/thread_activity.h"
#include "inject/arch/stub.h"
#include "inject/choose_thread.h"
#include "inject/padding.h"
#include "inject/ptrace_control.h"

namespace heapattach {

namespace {

constexpr std::size_t kMostText = 65536;
// At most this many bytes of one padding are searched. Most paddings are shorter than a page.
constexpr std::uint64_t kMostPadding = 65536;
constexpr std::uint64_t kStubAlignment = 64;
// A return address into a stub can be this far from the stack pointer that the thread has now or
// had when it was borrowed: frames of signal handlers and of the called function may be in between.
constexpr std::uint64_t kNearBytes = std::uint64_t{96} << 10;

std::string text_of(const std::string& path) {
  const auto file = Fd::open(path, 0);
  if (!file) return {};
  auto text = read_all(*file, kMostText);
  return text ? std::move(*text) : std::string();
}

// A clone that was killed before it could set its name is recognised by its OOM score, which only a
// clone has.
bool is_first_to_go(pid_t pid) {
  return text_of(fmt::format("/proc/{}/oom_score_adj", pid)) == "1000\n";
}

std::vector<pid_t> numbers_in(const std::string& text) {
  std::vector<pid_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    pid_t number = 0;
    if (std::from_chars(at, end, number).ec != std::errc()) break;
    numbers.push_back(number);
    at = std::find(at, end, ' ');
    if (at != end) ++at;
  }
  return numbers;
}

// Whether the child is a clone that nobody traces, so that it will end by itself. A clone that
// another run has just made looks the same for some milliseconds.
bool is_ending_clone(pid_t child) {
  const auto state = parse_thread_state(text_of(fmt::format("/proc/{}/stat", child)));
  if (!state || state->is_exiting() || state->name != kCloneName) return false;
  return text_of(fmt::format("/proc/{}/status", child)).find("\nTracerPid:\t0\n") !=
         std::string::npos;
}

bool is_dead_clone(pid_t child, bool is_any_first) {
  const auto state = parse_thread_state(text_of(fmt::format("/proc/{}/stat", child)));
  if (!state || !state->is_exiting()) return false;
  return state->name == kCloneName || (!is_any_first && is_first_to_go(child));
}

std::vector<pid_t> children_of(const Process& target) {
  std::vector<pid_t> all;
  const auto listing = target.list_threads();
  if (!listing) return all;
  for (const pid_t tid : listing->tids) {
    const auto children = target.read_file(fmt::format("task/{}/children", tid));
    if (!children) continue;  // some kernel builds lack this file
    const std::vector<pid_t> numbers = numbers_in(*children);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

// Waits for clones whose heapattach was killed. Such a clone may still sleep, or wait for a CPU. It
// ends by itself, and can be reaped only then.
void wait_for_last_copies(const Process& target, const Deadline& deadline) {
  constexpr std::chrono::seconds kForThem{4};
  const auto until = std::min(std::chrono::steady_clock::now() + kForThem, deadline.at);
  const auto is_any_ending = [&target] {
    const std::vector<pid_t> children = children_of(target);
    return std::any_of(children.begin(), children.end(), is_ending_clone);
  };
  while (is_any_ending() && std::chrono::steady_clock::now() < until && check_interrupt()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Whether a word in this range points into `stub`. Unreadable memory contains no such word.
bool leads_into(const LeftStub& stub, Range where, const MemoryReader& memory) {
  std::vector<std::uint64_t> words(where.bytes / sizeof(std::uint64_t));
  const auto got = memory.read_some(where.start, std::as_writable_bytes(std::span(words)));
  words.resize((got ? *got : 0) / sizeof(std::uint64_t));
  return std::any_of(words.begin(), words.end(),
                     [&](std::uint64_t word) { return stub.range.contains({word}); });
}

// The part of `wanted` that is in the mapping of `at`.
Range within_mapping(const MemoryMap& map, RemoteAddr at, Range wanted) {
  const Mapping* mapping = map.find(at);
  if (mapping == nullptr) return {};
  const RemoteAddr start = std::max(wanted.start, mapping->range.start);
  const RemoteAddr end = std::min(wanted.end(), mapping->range.end());
  const RemoteAddr aligned{(start.value + kWordBytes - 1) & ~(kWordBytes - 1)};
  return {aligned, end > aligned ? end - aligned : 0};
}

class Clearing {
 public:
  Clearing(const Process& target, RemoteControl& control, const FrozenView& view)
      : target_(target), control_(control), view_(view), threads_(stopped_threads(view)) {}

  Result<void> run(const std::vector<pid_t>& dead) {
    map_ = HA_TRY(target_.maps());
    if (threads_.empty()) return Error{ErrorKind::Timeout, "none of its threads is stopped"};
    for (const LeftStub& stub : left_stubs(map_, control_.memory())) {
      if (is_in_use(stub, view_, map_, control_.memory())) continue;
      const std::vector<std::byte> zeros(stub.range.bytes);
      HA_TRY(control_.write(threads_.front()->tid, stub.range.start, zeros));
    }
    // If one clone cannot be reaped, the others still are.
    Result<void> all;
    for (const pid_t number : dead) {
      auto reaped = take_notice_of(number);
      if (!reaped && all) all = std::move(reaped);
    }
    return all;
  }

 private:
  Result<void> take_notice_of(pid_t number) {
    const auto stubs = find_paddings(map_, control_.memory(), Stub::size_bytes());
    if (stubs.empty()) {
      return Error{ErrorKind::Impossible, "it no longer has padding after its code"};
    }
    const Borrowed thread = HA_TRY(choose_thread({control_, target_, map_, stubs}, threads_));
    const RemoteCall call{.number = SYS_wait4,
                          .arguments = {static_cast<std::uint64_t>(number), 0,
                                        static_cast<std::uint64_t>(WNOHANG | __WCLONE), 0},
                          .deadline = view_.deadline};
    const CallResult got = HA_TRY(make_call(control_, thread, call));
    // ECHILD: the target has reaped it by itself.
    if (got.value == number || got.value == -ECHILD) return {};
    return Error{ErrorKind::Os,
                 fmt::format("wait4({}) in the target returned {}", number, got.value)};
  }

  const Process& target_;
  RemoteControl& control_;
  const FrozenView& view_;
  const std::vector<const FrozenThread*> threads_;
  MemoryMap map_;
};

}  // namespace

std::vector<pid_t> dead_clones(const Process& target) {
  std::vector<pid_t> found;
  const bool is_any_first = is_first_to_go(target.pid());
  for (const pid_t child : children_of(target)) {
    if (!is_dead_clone(child, is_any_first)) continue;
    const auto numbers = namespace_numbers(text_of(fmt::format("/proc/{}/status", child)));
    if (!numbers.empty()) found.push_back(numbers.back());
  }
  return found;
}

std::vector<LeftStub> left_stubs(const MemoryMap& map, const MemoryReader& memory) {
  std::vector<LeftStub> found;
  for (const Range& padding : paddings(map, memory)) {
    std::vector<std::byte> bytes(std::min(padding.bytes, kMostPadding));
    if (!memory.read(padding.start, bytes)) continue;
    std::span<const std::byte> rest(bytes);
    for (std::uint64_t at = 0; at < bytes.size(); at += kStubAlignment) {
      const auto stub = Stub::recognize(rest.subspan(at));
      if (stub) found.push_back({{padding.start + at, stub->bytes}, stub->stack});
    }
  }
  return found;
}

bool is_in_use(const LeftStub& stub,
               const FrozenView& view,
               const MemoryMap& map,
               const MemoryReader& memory) {
  bool is_stack_in_sight = false;
  for (const FrozenThread& thread : view.threads) {
    if (!thread.registers || stub.range.contains(thread.registers->instruction_pointer)) {
      return true;
    }
    const RemoteAddr stack = thread.registers->stack_pointer;
    if (leads_into(stub, within_mapping(map, stack, {stack, kNearBytes}), memory)) return true;
    const Range near = within_mapping(map, stub.stack, {stub.stack - kNearBytes, 2 * kNearBytes});
    is_stack_in_sight = is_stack_in_sight || near.contains(stack);
  }
  // A thread is on the stack for which the stub was written. A return address into the stub would
  // be above its stack pointer, and none was found there.
  if (is_stack_in_sight) return false;
  // No thread is on that stack. A called function may have switched to another stack, so look at
  // what it left below.
  const Range below{stub.stack - kNearBytes, kNearBytes};
  return leads_into(stub, within_mapping(map, stub.stack, below), memory);
}

Result<void> clear_leftovers(const Process& target,
                             RemoteControl& control,
                             const Deadline& deadline,
                             std::vector<pid_t> also) {
  const MemoryMap map = HA_TRY(target.maps());
  for (const pid_t number : dead_clones(target)) {
    if (std::find(also.begin(), also.end(), number) == also.end()) also.push_back(number);
  }
  if (also.empty() && left_stubs(map, control.memory()).empty()) return {};
  // The limits are generous: leaving the stub would be worse than a long stop on an overloaded
  // machine.
  const FreezeOptions options{.thread_deadline = std::chrono::seconds(5),
                              .budget = std::chrono::seconds(10),
                              .deadline = deadline,
                              .for_cleaning = true};
  need_time(options.thread_deadline + options.budget);
  const auto frozen = while_frozen(target, options, [&](const FrozenView& view) {
    return Clearing(target, control, view).run(also);
  });
  if (!frozen) return frozen.error();
  return {};
}

Result<void> clear_leftovers(const Process& target, const Deadline& deadline) {
  wait_for_last_copies(target, deadline);
  const auto control = HA_TRY(PtraceControl::open(target));
  return clear_leftovers(target, *control, deadline);
}

}  // namespace heapattach
