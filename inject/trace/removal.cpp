#include "inject/trace/removal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "attach/base/guardian.h"
#include "attach/base/needed_time.h"
#include "attach/base/page.h"
#include "inject/memory_sharers.h"
#include "inject/ptrace_control.h"
#include "inject/trace/arch/jump.h"
#include "inject/trace/blob.h"
#include "inject/trace/in_target.h"
#include "inject/trace/reader.h"
#include "inject/trace/stack_words.h"

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// We wait this long for threads to leave the blob.
constexpr auto kLeavePatience = 5s;
constexpr auto kLeastPatience = 200ms;
// The time between tries grows: on a busy machine, a thread waits for its turn on a processor
// before it can leave the code.
constexpr auto kFirstWait = 3ms;
constexpr auto kLongestWait = 48ms;
// The code is unmapped this long after the entries have been put back, if no thread is in it then.
// A program that switches between contexts in a signal handler may have interrupted a context in
// our code. Nothing shows that while the context waits, but it leaves the code soon after it
// continues.
constexpr auto kGrace = 100ms;
// A run maps its file at most this long after it has made it, unless the machine is very busy.
constexpr auto kBeginning = 500ms;

std::optional<BlobHead> head_at(RemoteAddr at, const MemoryReader& memory) {
  const auto head = memory.read_as<BlobHead>(at);
  const BlobHead own = blob_head();
  if (!head || std::memcmp(head->magic, own.magic, sizeof own.magic) != 0) return std::nullopt;
  if (head->version != own.version || head->base != at.value) return std::nullopt;
  const auto is_wrong = [](std::uint64_t bytes) { return bytes > kMostMoved; };
  if (std::any_of(std::begin(head->entry_bytes), std::end(head->entry_bytes), is_wrong)) {
    return std::nullopt;
  }
  return *head;
}

bool is_ours(const Process& target, int file) {
  const auto link = target.read_link(fmt::format("fd/{}", file));
  return link && link->starts_with(ring_path());
}

std::vector<int> open_files(const Process& target) {
  std::vector<int> found;
  std::error_code none;
  const std::filesystem::path directory =
      fmt::format("/proc/self/fd/{}/fd", target.directory().get());
  for (const auto& file : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = file.path().filename();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number >= 0 && is_ours(target, number)) found.push_back(number);
  }
  return found;
}

bool is_refused(const Error& error) {
  return error.kind == ErrorKind::Impossible || error.kind == ErrorKind::Denied;
}

class Removal {
 public:
  Removal(const Process& target,
          RemoteControl& control,
          const FrozenView& view,
          const RemovalOf& what,
          MemorySharers& sharers,
          std::optional<Clock::time_point>& put_back_at)
      : target_(target),
        control_(control),
        view_(view),
        what_(what),
        sharers_(sharers),
        put_back_at_(put_back_at) {}

  // Returns nothing if the removal must wait; why_waits() says for what.
  Result<std::optional<Removed>> run() {
    map_ = HA_TRY(target_.maps());
    const Remains remains = find_what();
    if (!remains.is_any()) return std::optional(Removed{});
    if (view_.threads.empty()) return Error{ErrorKind::Gone, "all its threads have exited"};
    if (remains.code.bytes != 0 && !remains.head) {
      return Error{
          ErrorKind::Impossible,
          "another version of heapattach left a trace in it, which only that version can remove"};
    }
    tid_ = view_.threads.front().tid;
    const bool is_unused = !remains.head || HA_TRY(leave(*remains.head));
    if (!why_stays_.empty()) return std::optional(Removed{false, why_stays_, {}, {}});
    if (!is_unused) return std::optional<Removed>();
    const auto unmapped = unmap(remains);
    if (unmapped) return std::optional(Removed{});
    // All threads may be under a seccomp filter by now that would kill them for our call.
    if (!is_refused(unmapped.error())) return unmapped.error();
    return std::optional(Removed{false, unmapped.error().message(), {}, {}});
  }

  [[nodiscard]] const std::string& why_waits() const { return why_waits_; }

 private:
  // The parts of the recorder that are in the target.
  [[nodiscard]] Remains find_what() const {
    Remains remains = find_mapped(map_, control_.memory());
    const bool is_other = what_.code && remains.code.start.value != *what_.code;
    if (is_other || what_.code == 0) remains = {};
    // The program may have closed our files and opened others under their numbers.
    for (const int file : what_.files) {
      if (is_ours(target_, file)) remains.files.push_back(file);
    }
    return remains;
  }

  // Turns the recorder off and puts the entries back. Returns true if nothing can run its code any
  // more. If the result is false and why_stays_ has a reason, the code stays for good.
  Result<bool> leave(const BlobHead& head) {
    HA_TRY(turn_off(head));
    const auto other = HA_TRY(is_reachable(head)) ? sharers_.find() : std::nullopt;
    if (other) {
      why_waits_ =
          fmt::format("process {} shares its memory and may run the recorder's code", *other);
      return false;
    }
    HA_TRY(put_back(head));
    if (!why_stays_.empty()) return false;
    if (!put_back_at_) put_back_at_ = Clock::now();
    const bool is_early = Clock::now() < *put_back_at_ + kGrace;
    return !is_early && !HA_TRY(is_in_use(head));
  }

  Result<void> turn_off(const BlobHead& head) {
    const std::uint32_t off = 0;
    const RemoteAddr control{head.base + kBlobCodeBytes};
    return control_.write(tid_, control, std::as_bytes(std::span(&off, 1)));
  }

  // Whether anything in the program still jumps to or calls the recorder's code.
  [[nodiscard]] Result<bool> is_reachable(const BlobHead& head) const {
    for (std::size_t i = 0; i < kHooks; ++i) {
      if (head.entry_bytes[i] == 0) continue;
      const auto there = HA_TRY((
          control_.memory().read_as<std::array<std::byte, kJumpBytes>>(RemoteAddr{head.entry[i]})));
      if (is_our_jump(head, i, there)) return true;
    }
    if (head.event_variable == 0) return false;
    const RemoteAddr variable{head.event_variable};
    return HA_TRY(control_.memory().read_as<std::uint64_t>(variable)) == head.base + head.handler;
  }

  static bool is_our_jump(const BlobHead& head,
                          std::size_t number,
                          std::span<const std::byte, kJumpBytes> there) {
    const std::uint64_t at = head.entry[number];
    const std::uint64_t hook = head.base + head.hook[number];
    return can_jump(at, hook) && std::ranges::equal(jump(at, hook), there);
  }

  Result<void> put_back(const BlobHead& head) {
    for (std::size_t i = 0; i < kHooks; ++i) {
      if (head.entry_bytes[i] != 0) HA_TRY(put_entry_back(head, i));
    }
    if (head.event_variable == 0) return {};
    const RemoteAddr variable{head.event_variable};
    const auto handler = HA_TRY(control_.memory().read_as<std::uint64_t>(variable));
    if (handler == head.base + head.handler) {
      return control_.write(tid_, variable, std::as_bytes(std::span(&head.program_handler, 1)));
    }
    if (handler != head.program_handler && handler != 0) {
      why_stays_ =
          "the program has since set another handler of collection events, which may call the "
          "recorder's";
    }
    return {};
  }

  Result<void> put_entry_back(const BlobHead& head, std::size_t number) {
    const RemoteAddr at{head.entry[number]};
    std::array<std::byte, kJumpBytes> there{};
    HA_TRY(control_.memory().read(at, there));
    const auto original = std::as_bytes(std::span(head.original[number])).first(kJumpBytes);
    if (std::equal(there.begin(), there.end(), original.begin())) return {};
    if (is_our_jump(head, number, there)) return control_.write(tid_, at, original);
    why_stays_ = fmt::format("something else has since changed the code at {}", at);
    return {};
  }

  // Whether a thread may still reach the recorder's code. Most of that code counts the threads in
  // it; in the rest, a thread is found only by its instruction pointer. A return address that
  // follows a call in our code is ignored, because a thread that will return to it is counted.
  Result<bool> is_in_use(const BlobHead& head) const {
    const MemoryReader& memory = control_.memory();
    const RemoteAddr base{head.base};
    const RemoteAddr inside = base + kBlobCodeBytes + offsetof(BlobControl, inside);
    if (HA_TRY(memory.read_as<std::uint64_t>(inside)) != 0) return true;
    std::vector<std::byte> code(std::min<std::uint64_t>(head.counted, kBlobCodeBytes));
    HA_TRY(memory.read(base, code));
    const auto is_in_code = [&](RemoteAddr at) {
      const std::uint64_t offset = at - base;
      return offset < code.size() && offset >= kJumpBytes && !follows_call(code, offset);
    };
    return is_any_thread_at(view_, map_, memory, {base, code.size()}, is_in_code);
  }

  Result<void> unmap(const Remains& remains) {
    InTarget target = HA_TRY(InTarget::borrow(control_, target_, map_, view_));
    const auto take = [&](Range range) -> Result<void> {
      if (range.bytes == 0) return {};
      static_cast<void>(HA_TRY(
          target.call("munmap in the target", SYS_munmap, {range.start.value, range.bytes})));
      return {};
    };
    for (const int file : remains.files) {
      static_cast<void>(HA_TRY(
          target.call("close in the target", SYS_close, {static_cast<std::uint64_t>(file)})));
    }
    // Unmap the code last, because a later run finds the rest through it.
    HA_TRY(take(remains.ring));
    return take(remains.code);
  }

  const Process& target_;
  RemoteControl& control_;
  const FrozenView& view_;
  const RemovalOf& what_;
  MemoryMap map_;
  pid_t tid_ = 0;
  MemorySharers& sharers_;
  std::optional<Clock::time_point>& put_back_at_;
  std::string why_stays_;
  std::string why_waits_ = "a thread may still return to it";
};

// Returns when to stop waiting for threads to leave the code. The wait must not use up the time of
// the whole run.
Clock::time_point end_of_patience(const Deadline& deadline) {
  const auto now = Clock::now();
  const auto left = (deadline.at - now) / 2;
  return now + std::clamp<Clock::duration>(left, kLeastPatience, kLeavePatience);
}

// Returns limits for the search for a reader, which must not use up the time of the whole run.
ReaderSearch short_search(const Deadline& deadline) {
  constexpr int kShare = 4;
  constexpr std::chrono::milliseconds kLeast{50};
  ReaderSearch search;
  const auto share = std::max<Clock::duration>((deadline.at - Clock::now()) / kShare, kLeast);
  search.time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::min<Clock::duration>(share, search.time));
  return search;
}

}  // namespace

std::uint64_t blob_bytes() {
  return kBlobCodeBytes + ((sizeof(BlobControl) + page_bytes() - 1) & ~(page_bytes() - 1));
}

Remains find_mapped(const MemoryMap& map, const MemoryReader& memory) {
  Remains found;
  const std::string path = ring_path();
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.path != path) continue;
    if (mapping.is_private) {
      if (found.code.bytes != 0) continue;
      found.head = head_at(mapping.range.start, memory);
      found.code = {mapping.range.start, blob_bytes()};
    } else if (found.ring.bytes == 0) {
      found.ring = mapping.range;
    } else if (found.ring.end() == mapping.range.start) {
      found.ring.bytes += mapping.range.bytes;
    }
  }
  return found;
}

Remains find_remains(const Process& target, const MemoryMap& map, const MemoryReader& memory) {
  Remains found = find_mapped(map, memory);
  found.files = open_files(target);
  return found;
}

namespace {

// Tries to remove what a trace left behind until nothing runs its code any more.
class Tries {
 public:
  Tries(const Process& target, RemoteControl& control, const RemovalOf& what)
      : target_(target), control_(control), what_(what), sharers_(target) {}

  // Tries once. Returns nothing if another try is needed. After `until`, returns a result in any
  // case.
  Result<std::optional<Removed>> once(const FreezeOptions& options, Clock::time_point until) {
    std::optional<Removed> removed;
    // The first search takes longest, so it comes before the stop.
    static_cast<void>(sharers_.find());
    const auto frozen = while_frozen(target_, options, [&](const FrozenView& view) -> Result<void> {
      Removal removal(target_, control_, view, what_, sharers_, put_back_at_);
      removed = HA_TRY(removal.run());
      why_ = removal.why_waits();
      return {};
    });
    if (frozen) {
      pause_ = std::max(pause_, frozen->pause);
      stopped_ += frozen->pause;
    } else if (frozen.error().kind == ErrorKind::Gone || !target_.is_alive()) {
      return std::optional(Removed{});
    }
    if (!removed && Clock::now() >= until) {
      if (!frozen) return frozen.error();
      removed = Removed{false, why_, {}, {}};
    }
    if (!removed) return std::optional<Removed>();
    removed->pause = pause_;
    removed->stopped = stopped_;
    return removed;
  }

  // The time of the next try, which is not before threads that were about to run the code have left
  // it.
  [[nodiscard]] Clock::time_point next(std::chrono::nanoseconds wait) const {
    const auto at = Clock::now() + wait;
    return put_back_at_ ? std::max(at, *put_back_at_ + kGrace) : at;
  }

 private:
  const Process& target_;
  RemoteControl& control_;
  const RemovalOf& what_;
  MemorySharers sharers_;
  std::optional<Clock::time_point> put_back_at_;
  std::string why_;
  std::chrono::nanoseconds pause_{};
  std::chrono::nanoseconds stopped_{};
};

}  // namespace

Result<Removed> remove(const Process& target,
                       RemoteControl& control,
                       const Deadline& deadline,
                       const RemovalOf& what) {
  const FreezeOptions options{
      .thread_deadline = 5s, .budget = 10s, .deadline = deadline, .for_cleaning = true};
  const auto until = end_of_patience(deadline);
  const NeededTime needed(kLeavePatience + 15s);
  Tries tries(target, control, what);
  for (auto wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    if (auto removed = HA_TRY(tries.once(options, until))) return *std::move(removed);
    std::this_thread::sleep_until(tries.next(wait));
  }
}

Result<Removed> repair(const Process& target, RemoteControl& control, const Deadline& deadline) {
  MemoryMap map = HA_TRY(target.maps());
  Remains remains = find_remains(target, map, control.memory());
  if (!remains.is_any()) return Removed{};
  if (!remains.head && remains.ring.bytes == 0) {
    // The files may be of another run that has just begun, and will map its file in a moment.
    std::this_thread::sleep_for(kBeginning);
    map = HA_TRY(target.maps());
    remains = find_remains(target, map, control.memory());
  }
  if (const pid_t reader = reader_of(target, map, remains, short_search(deadline)); reader != 0) {
    return Error{ErrorKind::Traced,
                 fmt::format("process {} is already traced, by process {}", target.pid(), reader)}
        .advise("again when that one has ended");
  }
  return remove(target, control, deadline, {.files = remains.files});
}

Result<Removed> repair(const Process& target, const Deadline& deadline) {
  const MemoryMap map = HA_TRY(target.maps());
  const auto is_ring = [](const Mapping& mapping) { return mapping.path == ring_path(); };
  if (std::ranges::none_of(map.mappings(), is_ring) && open_files(target).empty()) return Removed{};
  const auto control = HA_TRY(PtraceControl::open(target));
  return repair(target, *control, deadline);
}

}  // namespace heapattach::trace
