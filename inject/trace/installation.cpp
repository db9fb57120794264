#include "inject/trace/installation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/guardian.h"
#include "attach/x86_64.h"
#include "inject/leftovers.h"
#include "inject/trace/blob.h"
#include "inject/trace/find_room.h"
#include "inject/trace/in_target.h"
#include "inject/trace/move_entry.h"
#include "inject/trace/stack_words.h"

// The steps, in two stops of all threads, and what happens if we die after each:
//
//   shared memory is made         a descriptor stays open (closed on exec)
//   we give it pages              the same. The target runs meanwhile: this takes longest
//   nothing is in the way         the target has no thread under a seccomp filter, no thread stands
//                                 or will return into the bytes that change, and these bytes are
//                                 those of the file. Nothing is changed yet
//   we write the code into it     the same. The code is whole before it is mapped: nothing in the
//                                 target is ever both writable and executable
//   code is mapped                a mapping that nothing refers to, named by the shared memory. It
//                                 covers the place of the control pages, too, so that what is ours
//                                 is clear at each moment
//   control pages, over its end   the same. They are private, wiped in a forked child (which is off
//                                 then), and say "off"
//   the ring is mapped            the same; twice in a row, the second time over its own end
//   the descriptor is closed      the same
//   the handler is set            it calls the program's own, and does nothing else while off
//   each entry becomes a jump     to a hook that jumps on to the entry's first instructions while
//                                 off. Five bytes within one page, in one write: the kernel is not
//                                 interrupted in it. All threads leave the stop by an instruction
//                                 that makes them fetch the new code
//   it is turned on               it records until the ring is full, drops after that, and turns
//                                 itself off when it sees no reader for twenty seconds
//
// Leaving is in reverse order: off, the entries, the handler, in one stop. A handler that was 0
// becomes an instruction of the collector that returns at once: 0 would not be safe (fill_head).
// The code is unmapped
// when no thread will return to it; a thread in it meanwhile continues as if it were on. Each thing
// that leaving undoes is found from the maps and the blob's head, so that the next run can do it,
// too.
//
// What the target notices while it is traced: 112 more bytes of stack in a sampled allocation, and
// no way for an exception from a finalizer, or from a function that the program has set for when
// memory runs out, through the frame of a sampled allocation: the frame has no tables. That is
// one allocation in thousands; the caller refuses targets that have set such a function. A program
// that puts itself under a seccomp filter while it is traced may not expect the three system calls
// of a sample.

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTries = 40;
constexpr auto kBetweenTries = 5ms;
constexpr const char* kAdvice = "--count and --watch, which change no code of the process";

Error impossible(std::string why) {
  return Error{ErrorKind::Impossible, std::move(why)}.advise(kAdvice);
}

// An entry with its hook.
struct Hook {
  const Entry* entry = nullptr;
  std::size_t number = 0;
  MovedEntry moved;
};

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
    const FreezeOptions freeze{.thread_deadline = options_.max_pause, .budget = options_.max_pause};
    need_time(2 * options_.max_pause + 10s);
    const auto made =
        while_frozen(target_, freeze, [this](const FrozenView& view) { return make_file(view); });
    if (!made) return made.error();
    made_.pause_ = made->pause;
    HA_TRY(fill_file());
    for (int i = 0; i < kTries; ++i) {
      is_in_the_way_ = false;
      const auto frozen = while_frozen(target_, freeze, [this](const FrozenView& view) {
        auto done = install(view);
        // Nothing of ours is in use before the last step.
        if (!done && !is_in_the_way_) static_cast<void>(try_remove(target_, control_, view));
        return done;
      });
      if (frozen) {
        made_.pause_ = std::max(made_.pause_, frozen->pause);
        made_.is_in_ = true;
        return {};
      }
      if (!is_in_the_way_) return frozen.error();
      why_ = frozen.error();
      std::this_thread::sleep_for(kBetweenTries);
    }
    return *why_;
  }

 private:
  Result<void> make_file(const FrozenView& view) {
    map_ = HA_TRY(target_.maps());
    if (find_remains(target_, map_, control_.memory()).is_any()) {
      return Error{ErrorKind::Traced, fmt::format("process {} is already traced", target_.pid())};
    }
    HA_TRY(check_threads(view));
    InTarget target = HA_TRY(InTarget::borrow(control_, target_, map_, view));
    number_ = HA_TRY(target.call("memfd_create in the target", SYS_memfd_create,
                                 {target.text(), MFD_CLOEXEC}, kRingName));
    file_ = HA_TRY(open_theirs());
    return {};
  }

  [[nodiscard]] Result<Fd> open_theirs() const {
    return target_.open_file(fmt::format("fd/{}", number_), O_RDWR);
  }

  // The machine must not run out of memory later, when the target writes.
  Result<void> fill_file() {
    const std::uint64_t bytes = kBlobCodeBytes + kRingHeadBytes + options_.ring_bytes;
    const int failure = posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes));
    if (failure != 0) return os_error("making the ring", failure);
    made_.ring_ = HA_TRY(Ring::map(file_, kBlobCodeBytes, options_.ring_bytes));
    return {};
  }

  // Whether the descriptor is still that of the memory: the program may have closed it.
  Result<void> check_file() const {
    struct stat ours {};
    struct stat theirs {};
    const auto file = open_theirs();
    const bool is_same = file && fstat(file_.get(), &ours) == 0 &&
                         fstat(file->get(), &theirs) == 0 && ours.st_ino == theirs.st_ino &&
                         ours.st_dev == theirs.st_dev;
    if (is_same) return {};
    return impossible("the program has closed our descriptor meanwhile");
  }

  Result<void> install(const FrozenView& view) {
    map_ = HA_TRY(target_.maps());
    HA_TRY(check_file());
    HA_TRY(check_threads(view));
    HA_TRY(place());
    HA_TRY(fill_head());
    HA_TRY(move_entries());
    HA_TRY(check_bytes(view));
    InTarget target = HA_TRY(InTarget::borrow(control_, target_, map_, view));
    HA_TRY(map_into(target));
    return switch_on();
  }

  Result<void> check_threads(const FrozenView& view) {
    for (const FrozenThread& thread : view.threads) {
      const auto status = HA_TRY(target_.thread_status(thread.tid));
      if (status.seccomp_mode == 0) continue;
      return impossible(fmt::format(
          "thread {} is under a seccomp filter, which may not expect the system calls of a trace",
          thread.tid));
    }
    return {};
  }

  Result<void> place() {
    std::vector<RemoteAddr> near;
    for (const Entry& entry : wanted_.allocations) near.push_back(entry.at);
    if (wanted_.release) near.push_back(wanted_.release->at);
    const auto room = find_room(map_, blob_bytes(), near);
    if (!room) return impossible("there is no room within 2 GiB of the collector's code");
    base_ = *room;
    // The kernel's own choice for the ring could be that very room.
    std::vector<Mapping> mappings = map_.mappings();
    Mapping ours;
    ours.range = {base_, blob_bytes()};
    mappings.push_back(std::move(ours));
    std::ranges::sort(mappings, {}, [](const Mapping& mapping) { return mapping.range.start; });
    const auto ring = find_room(MemoryMap(std::move(mappings)), ring_mapped(), {});
    if (!ring) return impossible("there is no room for the ring");
    ring_at_ = *ring;
    return {};
  }

  // Twice in a row.
  [[nodiscard]] std::uint64_t ring_mapped() const {
    return kRingHeadBytes + 2 * options_.ring_bytes;
  }

  Result<void> fill_head() {
    head_ = blob_head();
    head_.base = base_.value;
    head_.ring_bytes = options_.ring_bytes;
    head_.tool = static_cast<std::uint64_t>(getpid());
    head_.tool_start = start_of(head_.tool);
    hooks_.clear();
    std::size_t first = 0;
    for (const Entry& entry : wanted_.allocations) {
      const std::size_t number = entry.size_is_second ? kAllocationHooks - 1 : first++;
      if (first >= kAllocationHooks) return impossible("the collector has too many entries");
      hooks_.push_back({&entry, number, {}});
    }
    if (wanted_.release) hooks_.push_back({&*wanted_.release, kFreeHook, {}});
    if (!wanted_.follows_ends()) return {};
    head_.event_variable = wanted_.event_variable.value;
    head_.is_marked = wanted_.is_marked.value;
    head_.object_base = wanted_.object_base.value;
    head_.collections = wanted_.collections.value;
    head_.program_handler =
        HA_TRY(control_.memory().read_as<std::uint64_t>(wanted_.event_variable));
    if (head_.program_handler != 0) return {};
    // The collector tests the variable once and calls through it twice, so it must not become 0
    // again while a thread may be in between, which nobody can rule out. From now on it has the
    // address of an instruction that only returns.
    head_.program_handler = return_instruction().value;
    if (head_.program_handler == 0) head_.event_variable = 0;
    return {};
  }

  // One of the collector's, after what is changed for the trace; 0 if there is none.
  [[nodiscard]] RemoteAddr return_instruction() const {
    constexpr std::ptrdiff_t kUnchanged = 64;
    for (const Hook& hook : hooks_) {
      const std::vector<std::byte>& code = hook.entry->code;
      if (static_cast<std::ptrdiff_t>(code.size()) <= kUnchanged) continue;
      const auto found = std::find(code.begin() + kUnchanged, code.end(), std::byte{0xc3});
      if (found != code.end()) {
        return hook.entry->at + static_cast<std::uint64_t>(found - code.begin());
      }
    }
    return {};
  }

  Result<void> move_entries() {
    const Disassembler disassembler = HA_TRY(Disassembler::open());
    const auto code = blob_code();
    image_.assign(code.begin(), code.end());
    image_.resize(kBlobCodeBytes);
    for (Hook& hook : hooks_) {
      const Entry& entry = *hook.entry;
      const RemoteAddr to = base_ + head_.trampoline[hook.number];
      auto moved = move_entry(disassembler, entry.code, entry.at, to);
      if (!moved) return std::move(moved).error().context(entry.name).advise(kAdvice);
      hook.moved = *std::move(moved);
      if (entry.at.value % kPageBytes > kPageBytes - kJumpBytes) {
        return impossible(fmt::format("{}: its first bytes are on two pages", entry.name));
      }
      std::copy(hook.moved.code.begin(), hook.moved.code.end(),
                image_.begin() + static_cast<std::ptrdiff_t>(head_.trampoline[hook.number]));
      head_.entry[hook.number] = entry.at.value;
      head_.entry_bytes[hook.number] = hook.moved.bytes;
      head_.inner_begin[hook.number] = entry.inner.start.value;
      head_.inner_end[hook.number] = entry.inner.end().value;
      std::memcpy(head_.original[hook.number], entry.code.data(), hook.moved.bytes);
    }
    return {};
  }

  Result<void> check_bytes(const FrozenView& view) {
    for (const Hook& hook : hooks_) {
      std::array<std::byte, kMostMoved> there{};
      const std::span<std::byte> bytes = std::span(there).first(hook.moved.bytes);
      HA_TRY(control_.memory().read(hook.entry->at, bytes));
      if (std::equal(bytes.begin(), bytes.end(), hook.entry->code.begin())) continue;
      return impossible(
          fmt::format("the code of {} is not that of its file: something else has changed it",
                      hook.entry->name));
    }
    // A thread within the bytes would be moved, if one that will return there from a signal
    // handler could be; so both must wait.
    const auto is_within = [this](RemoteAddr at) {
      return std::any_of(hooks_.begin(), hooks_.end(), [at](const Hook& hook) {
        return at > hook.entry->at && at < hook.entry->at + hook.moved.bytes;
      });
    };
    is_in_the_way_ = is_any_thread_at(view, map_, control_.memory(), is_within);
    if (!is_in_the_way_) return {};
    return impossible("a thread is at, or will return to, the first instructions of an entry");
  }

  Result<void> map_into(InTarget& target) {
    HA_TRY(map_ring(target));
    HA_TRY(write_code());
    const auto map = [&](RemoteAddr at, std::uint64_t bytes, int protection, int flags,
                         std::uint64_t descriptor) -> Result<void> {
      const std::uint64_t got =
          HA_TRY(target.call("mmap in the target", SYS_mmap,
                             {at.value, bytes, static_cast<std::uint64_t>(protection),
                              static_cast<std::uint64_t>(flags), descriptor, 0}));
      if (got == at.value) return {};
      return impossible("the kernel did not map memory where it was asked to");
    };
    HA_TRY(map(base_, blob_bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
               number_));
    const RemoteAddr control = base_ + kBlobCodeBytes;
    const std::uint64_t control_bytes = blob_bytes() - kBlobCodeBytes;
    HA_TRY(map(control, control_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, ~std::uint64_t{0}));
    static_cast<void>(HA_TRY(target.call("madvise(MADV_WIPEONFORK) in the target", SYS_madvise,
                                         {control.value, control_bytes, MADV_WIPEONFORK})));
    static_cast<void>(HA_TRY(target.call("close in the target", SYS_close, {number_})));
    tid_ = target.tid();
    return control_.write(tid_, control,
                          new_control(options_.every, options_.stack_bytes, random_seed()));
  }

  Result<void> map_ring(InTarget& target) {
    const std::uint64_t whole = kRingHeadBytes + options_.ring_bytes;
    const auto map = [&](std::uint64_t at, std::uint64_t bytes, std::uint64_t flags,
                         std::uint64_t from) {
      return target.call("mmap of the ring in the target", SYS_mmap,
                         {at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, number_, from});
    };
    // Behind the end of the memory, nothing can be populated: that is where the second one comes.
    head_.ring = HA_TRY(
        map(ring_at_.value, ring_mapped(), MAP_FIXED_NOREPLACE | MAP_POPULATE, kBlobCodeBytes));
    if (head_.ring != ring_at_.value) {
      return impossible("the kernel maps memory elsewhere than asked");
    }
    static_cast<void>(HA_TRY(map(head_.ring + whole, options_.ring_bytes, MAP_FIXED | MAP_POPULATE,
                                 kBlobCodeBytes + kRingHeadBytes)));
    return {};
  }

  Result<void> write_code() {
    std::memcpy(image_.data(), &head_, sizeof head_);
    const auto put = pwrite(file_.get(), image_.data(), image_.size(), 0);
    const int failure = errno;
    if (put == static_cast<ssize_t>(image_.size())) return {};
    return os_error("writing the code", failure);
  }

  static std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1;
  }

  Result<void> switch_on() {
    if (head_.event_variable != 0) {
      const std::uint64_t handler = head_.base + head_.handler;
      HA_TRY(control_.write(tid_, RemoteAddr{head_.event_variable},
                            std::as_bytes(std::span(&handler, 1))));
    }
    for (const Hook& hook : hooks_) {
      const RemoteAddr at = hook.entry->at;
      HA_TRY(control_.write(tid_, at, jump(at.value, head_.base + head_.hook[hook.number])));
    }
    const std::uint32_t on = 1;
    HA_TRY(control_.write(tid_, base_ + kBlobCodeBytes, std::as_bytes(std::span(&on, 1))));
    made_.ring_->beat();
    made_.entries_.clear();
    for (const Hook& hook : hooks_) made_.entries_.push_back(hook.entry->name);
    return {};
  }

  const Process& target_;
  RemoteControl& control_;
  const Hooks& wanted_;
  const InstallOptions& options_;
  Installation& made_;
  MemoryMap map_;
  RemoteAddr base_;
  RemoteAddr ring_at_;
  BlobHead head_{};
  std::vector<Hook> hooks_;
  std::vector<std::byte> image_;
  pid_t tid_ = 0;
  std::uint64_t number_ = 0;  // of the descriptor there
  Fd file_;                   // the same memory
  bool is_in_the_way_ = false;
  std::optional<Error> why_;
};

Result<std::unique_ptr<Installation>> Installation::make(const Process& target,
                                                         RemoteControl& control,
                                                         const Hooks& hooks,
                                                         const InstallOptions& options) {
  if (!left_stubs(HA_TRY(target.maps()), control.memory()).empty()) {
    HA_TRY(clear_leftovers(target, control));
  }
  const Removed repaired = HA_TRY(repair(target, control));
  if (!repaired.is_whole) {
    return impossible("an earlier trace is still in it, because " + repaired.why);
  }
  std::unique_ptr<Installation> made(new Installation(target, control));
  auto done = Installer(target, control, hooks, options, *made).run();
  if (done) return made;
  // Only if something could not be undone in the same stop.
  static_cast<void>(remove(target, control));
  return std::move(done).error().context(fmt::format("tracing process {}", target.pid()));
}

Installation::~Installation() {
  static_cast<void>(leave());
}

Result<Removed> Installation::leave() {
  if (!is_in_) return Removed{};
  is_in_ = false;
  return remove(target_, control_);
}

Result<void> check_entry(const Disassembler& disassembler, const Entry& entry) {
  auto moved = move_entry(disassembler, entry.code, entry.at, entry.at + kPageBytes);
  if (!moved) return std::move(moved).error().context(entry.name).advise(kAdvice);
  return {};
}

}  // namespace heapattach::trace
