#include "inject/trace/installation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/base/guardian.h"
#include "attach/base/needed_time.h"
#include "attach/base/page.h"
#include "inject/headroom.h"
#include "inject/leftovers.h"
#include "inject/memory_sharers.h"
#include "inject/taken_file.h"
#include "inject/trace/blob.h"
#include "inject/trace/in_target.h"
#include "inject/trace/map_blob.h"
#include "inject/trace/plan.h"
#include "inject/trace/reader.h"
#include "inject/trace/stack_words.h"

// The changes are planned while the target runs (plan.h). Then all threads are stopped several
// times, each time as short as possible. The steps, and what happens if we die after each step:
//
//   shared memory is made         a descriptor stays open (closed on exec). The target runs while
//                                 we fix its size, give it pages, and write the code into it: the
//                                 code is whole before it is mapped, and nothing in the target is
//                                 ever both writable and executable
//   code is mapped                a mapping that nothing refers to, named by the shared memory. It
//                                 covers the place of the control pages, too, so that what is ours
//                                 is clear at each moment
//   control pages, over its end   the same. They are private, wiped in a forked child (which is off
//                                 then), and say "off"
//   the ring is mapped            the same; twice in a row, the second time over its own end
//   the descriptor is closed      the same
//   the ring gets its pages       the same: faults in its first lap would cost more than samples
//   nothing is in the way         no thread is in the bytes that change, or will return into them,
//                                 and the bytes are those of the file. Nothing is changed yet
//   the handler is set            it calls the program's own, and does nothing else while off
//   each entry becomes a jump     to a hook that jumps on to the entry's first instructions while
//                                 off. A few bytes within one page, in one write: the kernel is not
//                                 interrupted in it. All threads leave the stop by an instruction
//                                 that makes them fetch the new code
//   it is turned on               it records until the ring is full, drops after that, and turns
//                                 itself off when it sees no reader for twenty seconds
//
// The removal goes in reverse order: in one stop, the recorder is turned off, and the entries and
// the handler are put back. A handler that was 0 becomes an instruction of the collector that
// returns at once: 0 would not be safe (plan.cpp). The code is unmapped when no thread will return
// to it; a thread that is in it meanwhile continues as if the recorder were on. Everything that has
// to be undone is found from the maps and the blob's head, so that the next run can undo it, too.
//
// On aarch64, instructions are fetched through separate caches, which do not see what is written.
// The kernel makes each write of code for us, and takes care of these caches:
//
// - A write through /proc/PID/mem into an executable mapping goes through copy_to_user_page(),
// which
//   on aarch64 calls flush_ptrace_access(): it cleans the data cache and invalidates the
//   instruction caches of all processors for those bytes.
// - The recorder's own code is written before it is mapped. The kernel notes for each page of the
//   file that its data cache was written to (flush_dcache_page, in the file's write), and cleans
//   and invalidates (__sync_icache_dcache) before it first enters the page into a table as
//   executable.
// - A processor may have fetched instructions ahead. All threads are stopped in the kernel
//   meanwhile, and the return from there to the program (eret) discards them.
//
// On aarch64, the jump is one aligned word. No thread sees it half-written, but nothing depends on
// that.
//
// A traced target can notice two things. A sampled allocation takes 112 more bytes of stack, and
// 176 on aarch64. And an exception from a finalizer, or from the program's function for running out
// of memory, cannot pass the frame of a sampled allocation, because it has no unwind tables. Only
// one allocation in thousands is sampled, and the caller refuses targets that have set such a
// function. A program may install a seccomp filter while it is traced, because the recorder makes
// no system call; but a thread that makes our calls must not be under a filter.

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTries = 40;
constexpr auto kBetweenTries = 5ms;
// We wait this long for a process that shares the memory: a child of vfork shares it only until it
// executes a program.
constexpr auto kSharedPatience = 2s;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
// The number of bytes that get their pages in one stop.
constexpr std::uint64_t kPopulatedAtOnce = std::uint64_t{8} << 20;

// Checks that there is enough memory, before anything is made. The ring's pages count as ours,
// because we allocate them.
Result<void> check_memory(const Process& target, const InstallOptions& options) {
  constexpr std::uint64_t kEntryBytes = 8;  // the size of an entry of the page tables
  const std::uint64_t mapped = blob_bytes() + kRingHeadBytes + 2 * options.ring_bytes;
  const RecorderNeed need{.target_bytes = blob_bytes() + mapped / page_bytes() * kEntryBytes,
                          .own_bytes = kRingHeadBytes + options.ring_bytes};
  const auto obstacle = obstacle_to_recorder(HA_TRY(clone_facts(target)), need);
  if (obstacle) return impossible(*obstacle);
  return {};
}

Error is_shared(pid_t other) {
  return impossible(fmt::format(
      "process {} shares its memory, as after vfork or clone(CLONE_VM), and would run code that is "
      "being changed",
      other));
}

Result<void> wait_until_unshared(MemorySharers& sharers) {
  const auto until = Clock::now() + kSharedPatience;
  for (;;) {
    const auto other = sharers.find();
    if (!other) return {};
    if (Clock::now() >= until) return is_shared(*other);
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace

class Installer {
 public:
  Installer(const Process& target,
            RemoteControl& control,
            const Hooks& hooks,
            const InstallOptions& options,
            Installation& made)
      : target_(target), control_(control), wanted_(hooks), options_(options), made_(made) {}

  Result<void> run() {
    const NeededTime needed(2 * options_.max_pause + 10s);
    HA_TRY(check_memory(target_, options_));
    HA_TRY(wait_until_unshared(sharers_));
    auto done = make_file();
    if (done) done = plan_and_map();
    if (done) done = populate();
    if (done) done = switch_on();
    if (!done) undo();
    return done;
  }

 private:
  using Work = Result<void> (Installer::*)(const FrozenView& view);
  Result<void> stop_for(Work work) {
    auto longest = options_.max_pause;
    if (options_.most_stopped) {
      const auto so_far = std::chrono::ceil<std::chrono::milliseconds>(made_.stopped_);
      longest = std::clamp(*options_.most_stopped - so_far, 1ms, longest);
    }
    const FreezeOptions freeze{
        .thread_deadline = longest, .budget = longest, .deadline = options_.deadline};
    const auto frozen =
        while_frozen(target_, freeze, [&](const FrozenView& view) { return (this->*work)(view); });
    if (!frozen) return frozen.error();
    made_.pause_ = std::max(made_.pause_, frozen->pause);
    made_.stopped_ += frozen->pause;
    return {};
  }

  // Takes out what is in the target. The mappings are found in the maps. Of the descriptor we know
  // only the number, so we check first that it is still ours.
  void undo() {
    if (number_ < 0) return;
    const std::array files{number_};
    const auto removed =
        remove(target_, control_, options_.deadline,
               {.code = is_mapped_ ? plan_.code().start.value : 0, .files = files});
    if (!options_.on_not_undone) return;
    if (!removed) options_.on_not_undone(removed.error());
    if (removed && !removed->is_whole) options_.on_not_undone(impossible(removed->why));
  }

  Result<void> make_file() {
    HA_TRY(stop_for(&Installer::make_theirs));
    const std::uint64_t bytes = kBlobCodeBytes + kRingHeadBytes + options_.ring_bytes;
    HA_TRY(fix_size(*file_, bytes));
    // Allocates all pages now: the target's writes must not run out of memory later.
    const int failure = posix_fallocate(file_->get(), 0, static_cast<off_t>(bytes));
    if (failure != 0) return os_error("making the buffer of the trace", failure);
    made_.ring_ = HA_TRY(Ring::map(*file_, kBlobCodeBytes, options_.ring_bytes));
    return {};
  }

  Result<void> make_theirs(const FrozenView& view) {
    map_ = HA_TRY(target_.maps());
    HA_TRY(check_untraced());
    InTarget target = HA_TRY(InTarget::borrow(control_, target_, map_, view));
    number_ = static_cast<int>(
        HA_TRY(target.call("memfd_create in the target", SYS_memfd_create,
                           {target.text(), MFD_CLOEXEC | MFD_ALLOW_SEALING}, kRingName)));
    file_ = HA_TRY(take_memory(target_, {target.tid(), number_}, kRingName, O_RDWR));
    return {};
  }

  // Checks that no other run has begun since repair().
  [[nodiscard]] Result<void> check_untraced() const {
    if (!find_mapped(map_, control_.memory()).is_any()) return {};
    return is_traced();
  }
  [[nodiscard]] Error is_traced() const {
    return Error{ErrorKind::Traced, fmt::format("process {} is already traced", target_.pid())}
        .advise("again when that trace has ended");
  }

  // Checks that no other run has removed our code because it took it for a killed run's.
  [[nodiscard]] Result<void> check_still_mapped() const {
    const Mapping* const mapping = map_.find(plan_.code().start);
    struct stat ours {};
    if (fstat(file_->get(), &ours) != 0) return os_error("fstat", errno);
    if (mapping != nullptr && mapping->path == ring_path() && mapping->inode == ours.st_ino) {
      return {};
    }
    return Error{ErrorKind::Traced,
                 fmt::format("another run of heapattach has removed the recorder from process {}",
                             target_.pid())}
        .advise("again");
  }

  // Checks that the program has not closed our descriptor.
  [[nodiscard]] Result<void> check_file() const {
    if (is_still_there(target_, number_, *file_)) return {};
    return impossible(
        "the program, or another run of heapattach, has closed the recorder's descriptor");
  }

  // Plans and maps again if the room that was chosen while the target ran is taken now.
  Result<void> plan_and_map() {
    for (int i = 0;; ++i) {
      plan_ = HA_TRY(Plan::make(target_, control_.memory(), wanted_, options_.ring_bytes));
      HA_TRY(write_code());
      is_in_the_way_ = false;
      auto mapped = stop_for(&Installer::map);
      if (mapped || !is_in_the_way_ || i == kTries) return mapped;
    }
  }

  Result<void> write_code() {
    const auto put = pwrite(file_->get(), plan_.image.data(), plan_.image.size(), 0);
    const int failure = errno;
    if (put == static_cast<ssize_t>(plan_.image.size())) return {};
    return os_error("writing the code", failure);
  }

  Result<void> map(const FrozenView& view) {
    map_ = HA_TRY(target_.maps());
    HA_TRY(check_untraced());
    HA_TRY(check_file());
    const auto is_taken = [this](Range range) {
      return std::ranges::any_of(map_.mappings(), [range](const Mapping& mapping) {
        return mapping.range.start < range.end() && range.start < mapping.range.end();
      });
    };
    is_in_the_way_ = is_taken(plan_.code()) || is_taken(plan_.ring());
    if (is_in_the_way_) {
      return impossible("the program has mapped memory where the recorder should be");
    }
    InTarget target = HA_TRY(InTarget::borrow(control_, target_, map_, view));
    is_mapped_ = true;
    HA_TRY(map_blob(target, plan_, number_));
    HA_TRY(check_mapped(target, target_, plan_, *file_));
    HA_TRY(check_file());
    static_cast<void>(HA_TRY(
        target.call("close in the target", SYS_close, {static_cast<std::uint64_t>(number_)})));
    return write_control(target.tid());
  }

  // Writes only the parts of the control page that are not zero.
  Result<void> write_control(pid_t tid) {
    const auto control = new_control(options_.every, options_.stack_bytes, random_seed());
    const auto write = [&](std::size_t from, std::size_t bytes) {
      return control_.write(tid, plan_.control().start + from,
                            std::span(control).subspan(from, bytes));
    };
    HA_TRY(write(0, offsetof(BlobControl, busy)));
    if (wanted_.of_malloc.empty() || options_.every > 1) return {};
    return write(offsetof(BlobControl, filter), sizeof(BlobControl::filter));
  }

  Result<void> populate() {
    const Range ring = plan_.ring();
    for (next_ = ring.start; next_ < ring.end() && !is_old_kernel_;
         next_ = next_ + kPopulatedAtOnce) {
      HA_TRY(stop_for(&Installer::populate_some));
    }
    return {};
  }

  Result<void> populate_some(const FrozenView& view) {
    InTarget target = HA_TRY(InTarget::borrow(control_, target_, map_, view));
    const std::uint64_t bytes = std::min(kPopulatedAtOnce, plan_.ring().end() - next_);
    // If the kernel lacks this call, the first lap in the ring is slower.
    is_old_kernel_ = !target.call("madvise(MADV_POPULATE_WRITE) in the target", SYS_madvise,
                                  {next_.value, bytes, kPopulateWrite});
    return {};
  }

  Result<void> switch_on() {
    for (int i = 0;; ++i) {
      is_in_the_way_ = false;
      HA_TRY(wait_until_unshared(sharers_));
      auto done = stop_for(&Installer::change_entries);
      if (done || !is_in_the_way_ || i == kTries) return done;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

  Result<void> check_bytes(const FrozenView& view) {
    for (const PlannedJump& jump : plan_.jumps) {
      std::array<std::byte, kMostMoved> there{};
      const std::span<std::byte> bytes = std::span(there).first(jump.original.size());
      HA_TRY(control_.memory().read(jump.at, bytes));
      if (std::ranges::equal(bytes, jump.original)) continue;
      return impossible(fmt::format(
          "the code of {} is not that of its file: something else has changed it", jump.name));
    }
    // We could move a thread that is within the bytes, but not a thread that will return there from
    // a signal handler. So we wait for both to leave.
    const auto is_within = [this](RemoteAddr at) {
      return std::ranges::any_of(plan_.jumps, [at](const PlannedJump& jump) {
        return at > jump.at && at < jump.at + jump.original.size();
      });
    };
    const Range changed = spanned();
    map_ = HA_TRY(target_.maps());
    is_in_the_way_ = is_any_thread_at(view, map_, control_.memory(), changed, is_within);
    if (!is_in_the_way_) return {};
    return impossible("a thread is at, or will return to, the first instructions of an entry");
  }

  // The memory from the first entry to the last.
  [[nodiscard]] Range spanned() const {
    const auto [first, last] = std::ranges::minmax_element(
        plan_.jumps, {}, [](const PlannedJump& jump) { return jump.at; });
    return {first->at, last->at - first->at + kMostMoved};
  }

  Result<void> change_entries(const FrozenView& view) {
    if (view.threads.empty()) return Error{ErrorKind::Gone, "all its threads have exited"};
    HA_TRY(check_bytes(view));
    HA_TRY(check_still_mapped());
    // The target may have made a process that shares its memory since our last look.
    if (const auto other = sharers_.find()) {
      is_in_the_way_ = true;
      return is_shared(*other);
    }
    const pid_t tid = view.threads.front().tid;
    const BlobHead& head = plan_.head;
    if (head.event_variable != 0) {
      if (HA_TRY(event_handler(wanted_, control_.memory())) != plan_.handler) {
        return impossible("the program has since changed its handler of collection events");
      }
      const std::uint64_t handler = head.base + head.handler;
      HA_TRY(control_.write(tid, RemoteAddr{head.event_variable},
                            std::as_bytes(std::span(&handler, 1))));
    }
    for (const PlannedJump& jump : plan_.jumps) HA_TRY(control_.write(tid, jump.at, jump.jump));
    made_.stacks_.emplace(target_, control_, head, wanted_.thread_records);
    HA_TRY(made_.stacks_->learn(view, map_));
    const std::uint32_t on = 1;
    HA_TRY(control_.write(tid, plan_.control().start, std::as_bytes(std::span(&on, 1))));
    made_.ring_->beat();
    made_.entries_.clear();
    for (const PlannedJump& jump : plan_.jumps) made_.entries_.push_back(jump.name);
    made_.head_ = head;
    made_.is_in_ = true;
    return {};
  }

  static std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1;
  }

  const Process& target_;
  RemoteControl& control_;
  const Hooks& wanted_;
  const InstallOptions& options_;
  Installation& made_;
  MemorySharers sharers_{target_};
  MemoryMap map_;
  Plan plan_;
  std::optional<Fd> file_;  // the shared memory
  int number_ = -1;         // the number of the target's descriptor of it
  RemoteAddr next_;         // the ring has no pages from here on
  bool is_mapped_ = false;  // our code, or a part of it, is mapped
  bool is_in_the_way_ = false;
  bool is_old_kernel_ = false;
};

Result<std::unique_ptr<Installation>> Installation::make(const Process& target,
                                                         RemoteControl& control,
                                                         const Hooks& hooks,
                                                         const InstallOptions& options) {
  if (!left_stubs(HA_TRY(target.maps()), control.memory()).empty()) {
    HA_TRY(clear_leftovers(target, control, options.deadline));
  }
  const Removed repaired = HA_TRY(repair(target, control, options.deadline));
  if (!repaired.is_whole) {
    return impossible("an earlier trace is still in it, because " + repaired.why);
  }
  std::unique_ptr<Installation> made(new Installation(target, control, options.deadline));
  auto done = Installer(target, control, hooks, options, *made).run();
  if (done) return made;
  return std::move(done).error().context(fmt::format("tracing process {}", target.pid()));
}

Installation::~Installation() {
  static_cast<void>(leave());
}

bool Installation::sees_collections() const {
  if (head_.event_variable == 0) return false;
  const auto handler = control_.memory().read_as<std::uint64_t>(RemoteAddr{head_.event_variable});
  return handler && *handler == head_.base + head_.handler;
}

RemoteAddr Installation::last_collection() const {
  return RemoteAddr{head_.base} + (kBlobCodeBytes + offsetof(BlobControl, last_collection));
}

Result<void> Installation::follow_ends_only(std::chrono::nanoseconds patience) {
  constexpr std::uint64_t kHardlyEver = std::uint64_t{1} << 40;  // bytes
  const auto write = [this](std::size_t field, std::uint64_t value) {
    return control_.write(target_.pid(), RemoteAddr{head_.base} + (kBlobCodeBytes + field),
                          std::as_bytes(std::span(&value, 1)));
  };
  HA_TRY(write(offsetof(BlobControl, patience), static_cast<std::uint64_t>(patience.count())));
  HA_TRY(write(offsetof(BlobControl, stack_most), 0));
  return write(offsetof(BlobControl, interval), kHardlyEver);
}

bool Installation::is_there() const {
  const auto base =
      control_.memory().read_as<std::uint64_t>(RemoteAddr{head_.base} + offsetof(BlobHead, base));
  return base && *base == head_.base;
}

Result<Removed> Installation::leave() {
  if (!is_in_) return Removed{};
  is_in_ = false;
  auto removed = remove(target_, control_, deadline_, {.code = head_.base});
  if (removed) {
    pause_ = std::max(pause_, removed->pause);
    stopped_ += removed->stopped;
  }
  debt_.reset();
  return removed;
}

}  // namespace heapattach::trace
