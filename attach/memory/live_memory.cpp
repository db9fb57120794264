#include "attach/memory/live_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attach/base/fault_points.h"
#include "attach/base/interrupt.h"
#include "attach/base/page.h"
#include "attach/base/team.h"

namespace heapattach {

namespace {

// One call copies at most this much, so that the deadline and interrupts are checked every few
// milliseconds and the workers end together.
constexpr std::size_t kBatchBytes = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kBatchPieces = IOV_MAX;

ssize_t vm_readv(pid_t tid, std::span<const iovec> local, std::span<const iovec> remote) {
  if (fault_at(FaultPoint::ProcessVmReadv)) return -1;
  return process_vm_readv(tid, local.data(), local.size(), remote.data(), remote.size(), 0);
}

// The address in the form that an iovec needs; nothing here ever dereferences it.
void* as_pointer(RemoteAddr at) {
  return reinterpret_cast<void*>(at.value);  // NOLINT(*-no-int-to-ptr)
}

// Whether the call was refused for a reason that does not apply to reading /proc/<pid>/mem: a
// seccomp filter (container runtimes had one), an old kernel, or the thread that names the process
// ended before the others.
bool is_refused(int failure) {
  return failure == EPERM || failure == ENOSYS || failure == EACCES || failure == ESRCH;
}

// Splits large pieces and joins those that adjoin on both sides.
std::vector<Copy> evenly(std::span<const Copy> copies) {
  std::vector<Copy> pieces;
  pieces.reserve(copies.size());
  for (const Copy& copy : copies) {
    for (std::size_t done = 0; done < copy.into.size();) {
      const RemoteAddr from = copy.from + done;
      const auto rest = copy.into.subspan(done);
      if (!pieces.empty()) {
        Copy& last = pieces.back();
        const bool adjoins = last.from + last.into.size() == from &&
                             last.into.data() + last.into.size() == rest.data();
        if (adjoins && last.into.size() < kBatchBytes) {
          const std::size_t more = std::min(rest.size(), kBatchBytes - last.into.size());
          last.into = {last.into.data(), last.into.size() + more};
          done += more;
          continue;
        }
      }
      const std::size_t count = std::min(rest.size(), kBatchBytes);
      pieces.push_back({from, rest.first(count)});
      done += count;
    }
  }
  return pieces;
}

// Hands out consecutive pieces, up to a batch at a time.
class Batches {
 public:
  explicit Batches(std::span<const Copy> pieces) : pieces_(pieces) {}

  std::span<const Copy> next() {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    std::size_t count = 0;
    while (count < std::min(pieces_.size(), kBatchPieces)) {
      bytes += pieces_[count].into.size();
      if (count > 0 && bytes > kBatchBytes) break;
      ++count;
    }
    const auto batch = pieces_.first(count);
    pieces_ = pieces_.subspan(count);
    return batch;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    pieces_ = {};
  }

 private:
  std::mutex mutex_;
  std::span<const Copy> pieces_;
};

void add_hole(std::vector<Range>& holes, Range hole) {
  if (!holes.empty() && holes.back().end() == hole.start) {
    holes.back().bytes += hole.bytes;
  } else {
    holes.push_back(hole);
  }
}

}  // namespace

// Copies batch after batch and keeps its own list of holes.
class LiveMemory::Worker {
 public:
  Worker(const LiveMemory& memory, Batches& batches, const CopyLimits& limits)
      : memory_(memory), batches_(batches), limits_(limits) {}

  void run() {
    for (auto batch = batches_.next(); !batch.empty(); batch = batches_.next()) {
      if (auto copied = copy(batch); !copied) {
        failure_ = std::move(copied).error();
        batches_.stop();
        return;
      }
    }
  }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] const std::vector<Range>& holes() const { return holes_; }

 private:
  Result<void> copy(std::span<const Copy> batch) {
    load(batch);
    while (first_ < count_) {
      if (std::chrono::steady_clock::now() > limits_.deadline) {
        return Error{ErrorKind::Timeout, fmt::format("copying at {}", at())};
      }
      HA_TRY(check_interrupt());
      const std::size_t got = HA_TRY(read_from_first());
      if (got == 0) {
        skip_page();
      } else {
        advance(got);
      }
    }
    return {};
  }

  void load(std::span<const Copy> batch) {
    first_ = 0;
    count_ = batch.size();
    for (std::size_t i = 0; i < count_; ++i) {
      local_[i] = {batch[i].into.data(), batch[i].into.size()};
      remote_[i] = {as_pointer(batch[i].from), batch[i].into.size()};
    }
  }

  [[nodiscard]] RemoteAddr at() const {
    return {reinterpret_cast<std::uintptr_t>(remote_[first_].iov_base)};
  }

  // As many bytes as one call can read; 0 if the first of them cannot be read.
  Result<std::size_t> read_from_first() {
    if (memory_.use_vm_readv_.load(std::memory_order_relaxed)) {
      const auto pending = count_ - first_;
      const auto got =
          vm_readv(memory_.tid_, {&local_[first_], pending}, {&remote_[first_], pending});
      const int failure = errno;
      if (got >= 0) return static_cast<std::size_t>(got);
      if (failure == EFAULT) return std::size_t{0};
      if (failure == EINTR) return read_from_first();
      if (!is_refused(failure)) return os_error("process_vm_readv", failure);
      memory_.use_vm_readv_.store(false, std::memory_order_relaxed);
    }
    auto got = memory_.read_mem(
        at(), {static_cast<std::byte*>(local_[first_].iov_base), local_[first_].iov_len});
    if (!got && got.error().kind == ErrorKind::Fault) return std::size_t{0};
    return got;
  }

  void advance(std::size_t bytes) {
    while (bytes > 0) {
      iovec& local = local_[first_];
      iovec& remote = remote_[first_];
      const std::size_t step = std::min(bytes, local.iov_len);
      local = {static_cast<std::byte*>(local.iov_base) + step, local.iov_len - step};
      remote = {as_pointer(at() + step), remote.iov_len - step};
      bytes -= step;
      if (local.iov_len == 0) ++first_;
    }
  }

  // Continues after the page that cannot be read.
  void skip_page() {
    const RemoteAddr from = at();
    const std::size_t gap = std::min<std::size_t>(local_[first_].iov_len,
                                                  kLeastPageBytes - from.value % kLeastPageBytes);
    std::fill_n(static_cast<std::byte*>(local_[first_].iov_base), gap, std::byte{0});
    add_hole(holes_, {from, gap});
    advance(gap);
  }

  const LiveMemory& memory_;
  Batches& batches_;
  const CopyLimits& limits_;
  std::array<iovec, kBatchPieces> local_{};
  std::array<iovec, kBatchPieces> remote_{};
  std::size_t first_ = 0;  // the first entry of both that is not done yet
  std::size_t count_ = 0;
  std::vector<Range> holes_;
  std::optional<Error> failure_;
};

Result<Fd> LiveMemory::open_mem(const Process& process) {
  return process.open_file("mem", O_RDONLY);
}

LiveMemory::LiveMemory(const Process& process, Fd mem, By by)
    : tid_(process.pid()),
      mem_(std::move(mem)),
      stalling_(StallingMemory::of(process)),
      untouched_(UntouchedMemory::of(process)),
      use_vm_readv_(by == By::ProcessVmReadv) {
  if (const auto live = process.live_tid()) tid_ = *live;
}

Result<std::size_t> LiveMemory::read_mem(RemoteAddr from, std::span<std::byte> into) const {
  for (;;) {
    const auto got = fault_at(FaultPoint::ReadMem) ? -1
                                                   : pread(mem_.get(), into.data(), into.size(),
                                                           static_cast<off_t>(from.value));
    const int failure = errno;
    if (got > 0) return static_cast<std::size_t>(got);
    // The memory that the descriptor refers to has no user any more (mem_rw: mmget_not_zero).
    if (got == 0) return Error{ErrorKind::Gone, "the process exited or executed another program"};
    if (failure == EINTR) continue;
    if (failure == EINVAL || failure == EFAULT) {
      return Error{ErrorKind::Fault, fmt::format("reading at {}", from), failure};
    }
    return os_error(fmt::format("reading at {}", from), failure);
  }
}

Result<std::size_t> LiveMemory::read_some(RemoteAddr from, std::span<std::byte> into) const {
  if (into.empty()) return std::size_t{0};
  const auto part = stalling_.first_part({from, into.size()});
  if (part.may_stall) {
    return Error{
        ErrorKind::Fault,
        fmt::format("reading at {}: the page is absent, and its provider may not answer", from),
        EFAULT};
  }
  into = into.first(part.bytes);
  if (into.size() < UntouchedMemory::kLeastBytes) return read_touched(from, into);
  std::size_t done = 0;
  for (const UntouchedMemory::Part& known : untouched_.first_parts({from, into.size()})) {
    const auto piece = into.subspan(done, known.bytes);
    if (known.is_untouched) {
      std::fill(piece.begin(), piece.end(), std::byte{0});
      done += piece.size();
      continue;
    }
    auto got = read_touched(from + done, piece);
    if (!got && done == 0) return got;
    if (got) done += *got;
    if (!got || *got < piece.size()) break;
  }
  return done;
}

Result<std::size_t> LiveMemory::read_touched(RemoteAddr from, std::span<std::byte> into) const {
  if (use_vm_readv_.load(std::memory_order_relaxed)) {
    const iovec local{into.data(), into.size()};
    const iovec remote{as_pointer(from), into.size()};
    const auto got = vm_readv(tid_, {&local, 1}, {&remote, 1});
    const int failure = errno;
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && failure == EINTR) return read_touched(from, into);
    if (got == 0 || !is_refused(failure)) {
      return os_error(fmt::format("reading at {}", from), got == 0 ? EFAULT : failure);
    }
    use_vm_readv_.store(false, std::memory_order_relaxed);
  }
  return read_mem(from, into);
}

// The parts of `copies` that must be read and can be read without waiting. Fills the others with
// zeros; those that would stall join `holes`.
Result<std::vector<Copy>> LiveMemory::readable_parts(std::span<const Copy> copies,
                                                     const CopyLimits& limits,
                                                     std::vector<Range>& holes) const {
  std::vector<Copy> readable;
  for (const Copy& copy : copies) {
    for (std::size_t done = 0; done < copy.into.size();) {
      if (std::chrono::steady_clock::now() > limits.deadline) {
        return Error{ErrorKind::Timeout, fmt::format("looking for pages at {}", copy.from + done)};
      }
      HA_TRY(check_interrupt());
      const RemoteAddr from = copy.from + done;
      const auto part = stalling_.first_part({from, copy.into.size() - done});
      const auto into = copy.into.subspan(done, part.bytes);
      if (part.may_stall) {
        std::fill(into.begin(), into.end(), std::byte{0});
        holes.push_back({from, into.size()});
        done += into.size();
      } else if (limits.are_touched) {
        readable.push_back({from, into});
        done += into.size();
      } else {
        done += add_touched(from, into, readable);
      }
    }
  }
  return readable;
}

// Adds the parts at the beginning of a range that were touched, and fills the others with zeros.
// Returns how far it got.
std::size_t LiveMemory::add_touched(RemoteAddr from,
                                    std::span<std::byte> into,
                                    std::vector<Copy>& readable) const {
  std::size_t done = 0;
  for (const UntouchedMemory::Part& known : untouched_.first_parts({from, into.size()})) {
    const auto piece = into.subspan(done, known.bytes);
    if (known.is_untouched) {
      std::fill(piece.begin(), piece.end(), std::byte{0});
    } else {
      readable.push_back({from + done, piece});
    }
    done += piece.size();
  }
  return done;
}

Result<std::vector<Range>> LiveMemory::copy_all(std::span<const Copy> copies,
                                                const CopyLimits& limits) const {
  std::vector<Range> found;
  std::vector<Copy> readable;
  if (!stalling_.empty() || !limits.are_touched) {
    readable = HA_TRY(readable_parts(copies, limits, found));
    copies = readable;
  }
  const std::vector<Copy> pieces = evenly(copies);
  Batches batches(pieces);
  std::vector<Worker> workers(std::max(1U, limits.workers), Worker(*this, batches, limits));
  const std::size_t worth = std::clamp<std::size_t>(pieces.size(), 1, workers.size());
  run_team(static_cast<unsigned>(worth),
           {.begin = {}, .work = [&](unsigned number) { workers[number].run(); }, .abandon = {}});
  for (const Worker& worker : workers) {
    if (worker.failure()) return *worker.failure();
    found.insert(found.end(), worker.holes().begin(), worker.holes().end());
  }
  std::sort(found.begin(), found.end());
  std::vector<Range> holes;
  for (const Range& hole : found) add_hole(holes, hole);
  return holes;
}

}  // namespace heapattach
